"""Training the foothold imagination model on touchdowns that came true (Sec. 3.2, Eq. 1)."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ssr.learning.config import ImaginationConfig, OptimizerConfig
from ssr.learning.devices import fetched
from ssr.learning.footsteps import FreshLabels, Labels
from ssr.learning.landing_error import empty_errors, landing_errors, sum_errors
from ssr.learning.optimizer import FlatAdam
from ssr.learning.ranks import ALONE, Ranks
from ssr.networks.imagination import FootholdImagination
from ssr.terrain.settings import TERRAIN_TYPES

MINIBATCHES = 8  #: per iteration; the paper is silent
SMOOTHING = 0.8  #: of the squared error, per iteration: the gate must not open and close by chance


def negative_log_likelihood(mean: Tensor, std: Tensor, target: Tensor) -> Tensor:
    """Eq. 1 for one foot, up to a constant: mean, target (m, 2); std (m,) → (m,)."""
    return (target - mean).square().sum(-1) / (2.0 * std.square()) + 2.0 * std.log()


class LabelBuffer:
    """The newest labelled swing steps, first in, first out."""

    def __init__(self, capacity: int, input_size: int, device: str = "cpu") -> None:
        self.input = torch.zeros(capacity, input_size, device=device)
        self.foot = torch.zeros(capacity, dtype=torch.long, device=device)
        self.target = torch.zeros(capacity, 2, device=device)
        self.seen = 0  #: samples ever put in

    @property
    def size(self) -> int:
        return min(self.seen, len(self.foot))

    def put(self, labels: Labels) -> None:
        count, capacity = len(labels.foot), len(self.foot)
        slots = (self.seen + torch.arange(count, device=self.foot.device)) % capacity
        newest = slice(max(0, count - capacity), None)
        for name in ("input", "foot", "target"):
            getattr(self, name)[slots[newest]] = getattr(labels, name)[newest]
        self.seen += count

    def sample(self, count: int) -> Labels:
        index = torch.randint(self.size, (count,), device=self.foot.device)
        return Labels(input=self.input[index], foot=self.foot[index], target=self.target[index])

    def state_dict(self) -> dict[str, object]:
        n = self.size
        return {
            "input": self.input[:n].clone(),
            "foot": self.foot[:n].clone(),
            "target": self.target[:n].clone(),
            "seen": self.seen,
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.seen = int(state["seen"])  # type: ignore[call-overload]
        for name in ("input", "foot", "target"):
            stored = state[name]
            assert isinstance(stored, Tensor)
            getattr(self, name)[: len(stored)] = stored


class Imagination:
    """The model, its buffer and whether its predictions can be trusted yet."""

    def __init__(
        self,
        model: FootholdImagination,
        *,
        state_size: int,
        action_size: int,
        config: ImaginationConfig,
        optimizer: OptimizerConfig | None = None,
        ranks: Ranks = ALONE,
        device: str = "cpu",
    ) -> None:
        optimizer = optimizer or OptimizerConfig()
        self.model, self.config, self.ranks, self.state_size = model, config, ranks, state_size
        self.buffer = LabelBuffer(max(1, config.capacity // ranks.size), state_size + action_size, device)
        self.fresh: list[FreshLabels] = []  #: labels the model has not been trained on
        self.total = 0  #: labels ever seen, over all ranks
        #: (types,) m, on labels before they were trained on, smoothed over iterations
        self.rmse = torch.full((len(TERRAIN_TYPES),), torch.inf, dtype=torch.float64)
        self.optimizer = FlatAdam(
            {"imagination": model},
            learning_rate=optimizer.learning_rate,
            max_gradient_norm=optimizer.max_gradient_norm,
            ranks=ranks,
        )

    @cached_property
    def believed(self) -> Tensor:
        """`trusted`, on the device of the model."""
        return self.trusted.to(self.buffer.foot.device)

    @property
    def trusted(self) -> Tensor:
        """(types,) bool: on which terrain types landings are known well enough to be paid for."""
        return (self.rmse < self.config.gate_rmse) & (self.total >= self.config.gate_samples)

    def put(self, labels: FreshLabels) -> None:
        if len(labels.foot):
            self.fresh.append(labels)

    def update(self) -> dict[str, float]:
        """Validate on the fresh labels, put them into the buffer, and train on samples of it."""
        device = self.buffer.foot.device
        error = torch.zeros(2, dtype=torch.float64, device=device)
        table = empty_errors(device)
        if self.fresh:
            names = ("input", "foot", "target", "terrain_type", "steps_left")
            labels = FreshLabels(
                **{name: torch.cat([getattr(x, name) for x in self.fresh]) for name in names}
            )
            self.fresh = []
            with torch.no_grad():
                mean, _ = self._predict(labels)
                squared = (mean - labels.target).square()
                error[0] = squared.sum()
                error[1] = len(labels.foot)
                table = sum_errors(squared.sum(-1), labels.terrain_type, labels.steps_left)
            self.buffer.put(labels)
        fill = error.new_full((1,), self.buffer.size)
        sums = fetched(self.ranks.sum_(torch.cat((error, fill, (fill == 0).double(), table.flatten()))))
        squared, count, filled, empty = sums[:4].tolist()
        by_contact = sums[4:].view(table.shape)
        self.total += int(count)
        self._judge(by_contact)
        loss = torch.zeros(1, dtype=torch.float64, device=device)
        if not empty and not self.optimizer.idle:
            size = min(self.config.batch_size, int(filled)) // self.ranks.size
            for _ in range(MINIBATCHES):
                loss += self._step(max(1, size)) / MINIBATCHES
        (mean_loss,) = self.optimizer.settle(loss)
        overall = {"foothold_rmse": (squared / count) ** 0.5} if count else {}
        said = {"imagination_loss": mean_loss, "imagination_samples": float(self.total)}
        return overall | landing_errors(by_contact) | said

    def _judge(self, table: Tensor) -> None:
        """Take the newest errors, a table (types, spans, 2) over all ranks, into the smoothed ones."""
        squared, count = table.sum(1).unbind(-1)
        newest = (squared / count).sqrt()
        blended = (SMOOTHING * self.rmse.square() + (1 - SMOOTHING) * newest.square()).sqrt()
        blended = torch.where(self.rmse.isfinite(), blended, newest)
        self.rmse = torch.where(count > 0, blended, self.rmse)
        self.__dict__.pop("believed", None)

    def _predict(self, labels: Labels) -> tuple[Tensor, Tensor]:
        state, action = labels.input.split((self.state_size, labels.input.shape[1] - self.state_size), 1)
        mean, std = self.model(state, action)
        rows = torch.arange(len(labels.foot), device=labels.foot.device)
        return mean[rows, labels.foot], std[rows, labels.foot]

    def _step(self, size: int) -> Tensor:
        """(1,) float64: the loss of a minibatch, over all ranks."""
        labels = self.buffer.sample(size)
        loss = negative_log_likelihood(*self._predict(labels), labels.target).mean()
        self.optimizer.extras[0] = loss.detach()
        self.optimizer.backward(loss)
        self.optimizer.step()
        return self.optimizer.extras[:1].double()

    def state_dict(self) -> dict[str, object]:
        assert not self.fresh, "save between iterations"
        return {
            "buffer": self.buffer.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "total": self.total,
            "rmse": self.rmse.clone(),
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.buffer.load_state_dict(state["buffer"])  # type: ignore[arg-type]
        self.optimizer.load_state_dict(state["optimizer"])  # type: ignore[arg-type]
        self.total = int(state["total"])  # type: ignore[call-overload]
        self.rmse = state["rmse"].cpu().clone()  # type: ignore[attr-defined]
        self.__dict__.pop("believed", None)

"""Adam over one flat parameter vector: one reduction, one clip per network and one fused step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite

import torch
from torch import Tensor, nn

from ssr.learning.devices import fetched
from ssr.learning.ranks import ALONE, Ranks

EXTRAS = 8  #: numbers that travel with the gradient in its one reduction


class NonFiniteGradient(ArithmeticError):
    """The gradient held a NaN or an infinity; the parameters are still those before that step."""


class FlatAdam:
    """Adam for named networks whose parameters are made views of one flat vector.

    Gradients are views of a second flat vector, so that `step` needs one all-reduce whatever the number of
    layers. Values in `extras` are averaged over the ranks in the same reduction.

    The host knows at once of a gradient that is not finite. A device is not asked: it stops stepping, and
    `settle` tells.

    With an average the networks act with weights that follow those that learn, which are theirs only within
    `newest`. An update of the encoder moved the actor's mean action by a KL of 0.4 to 0.8, thirty times what
    PPO may: each time the actor had to learn anew what its inputs mean.
    """

    def __init__(
        self,
        networks: Mapping[str, nn.Module],
        *,
        learning_rate: float,
        max_gradient_norm: float | None = 1.0,
        average: float = 0.0,
        ranks: Ranks = ALONE,
    ) -> None:
        """average: share of the weights that act kept whenever those that learn have been taken in."""
        self.networks = dict(networks)
        self.max_gradient_norm = max_gradient_norm
        self.ranks = ranks
        sizes = {
            name: sum(p.numel() for p in network.parameters()) for name, network in self.networks.items()
        }
        first = next(p for network in self.networks.values() for p in network.parameters())
        total = sum(sizes.values())
        self.values = torch.empty(total, device=first.device)
        self._reduced = torch.zeros(total + EXTRAS, device=first.device)
        self.gradient = self._reduced[:total]
        self.extras = self._reduced[total:]
        self.parts: dict[str, Tensor] = {}
        self._spans: dict[str, slice] = {}
        self.frozen: frozenset[str] = frozenset()  #: networks whose values stay
        start = 0
        for name, network in self.networks.items():
            self._spans[name] = slice(start, start + sizes[name])
            self.parts[name] = self.gradient[self._spans[name]]
            for parameter in network.parameters():
                # Memory order is kept: channels may come last. Every parameter is dense.
                shape = parameter.size(), parameter.stride(), start
                self.values.as_strided(*shape).copy_(parameter.detach())
                parameter.data = self.values.as_strided(*shape)
                parameter.grad = self.gradient.as_strided(*shape)
                start += parameter.numel()
        ranks.share_(self.values)
        self.average = average
        self.learning = self.values.clone() if average > 0.0 else None
        self._flat = nn.Parameter(self.values, requires_grad=True)
        self._flat.grad = self.gradient
        self._on_host = first.device.type == "cpu"
        self._rate = torch.full((), learning_rate, dtype=torch.float64, device=first.device)
        # CUDA's kernel reads a rate of single precision.
        self._acting_rate = self._rate.float() if first.device.type == "cuda" else self._rate
        self._adam = torch.optim.Adam([self._flat], lr=self._acting_rate, fused=True, betas=(0.9, 0.999))
        self._bad = torch.zeros(len(self.networks), dtype=torch.bool, device=first.device)
        if not self._on_host:
            self._stopped = torch.zeros((), device=first.device)
            self._adam.found_inf = self._stopped  # type: ignore[attr-defined]

    @property
    def idle(self) -> bool:
        """All of its networks are frozen: nothing can be learned."""
        return self.frozen == self.networks.keys()

    @property
    def learning_rate(self) -> float:
        return float(self._rate)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self.rate = torch.full_like(self._rate, value)

    @property
    def rate(self) -> Tensor:
        """() float64, the learning rate where the networks are."""
        return self._rate

    @rate.setter
    def rate(self, value: Tensor) -> None:
        self._rate.copy_(value)
        self._acting_rate.copy_(value)

    def backward(self, loss: Tensor) -> None:
        """Gradient of `loss`, averaged over the ranks together with `extras`, clipped per network."""
        with self.gathering():
            loss.backward()

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gradients of the networks are worked out within, then averaged and clipped as by `backward`."""
        self.gradient.zero_()
        yield
        self.ranks.mean_(self._reduced)
        for k, (name, part) in enumerate(self.parts.items()):
            if name in self.frozen:
                part.zero_()
                continue
            length = torch.linalg.vector_norm(part).double()
            if not self._on_host:
                self._bad[k].logical_or_(~length.isfinite())
                self._stopped.copy_(self._bad.any())
            elif not isfinite(length):
                raise NonFiniteGradient(name)
            if (most := self.max_gradient_norm) is not None and (not self._on_host or length > most):
                scale = torch.where(length > most, most / (length + 1e-6), 1.0)
                part.mul_(scale.to(part.dtype))

    @contextmanager
    def newest(self) -> Iterator[None]:
        """The networks have the weights that learn within; then those that act have followed them."""
        if self.learning is None:
            yield
            return
        acting = self.values.clone()
        self.values.copy_(self.learning)
        try:
            yield
        finally:
            self.learning.copy_(self.values)
            self.values.lerp_(acting, self.average)

    def learn_from_here(self) -> None:
        """The weights that learn are those that act, which have been loaded."""
        if self.learning is not None:
            self.learning.copy_(self.values)

    def settle(self, totals: Tensor) -> list[float]:
        """`totals` (k,) on the host, and NonFiniteGradient if there was one since this was last asked."""
        if self._on_host:
            return totals.tolist()
        numbers = fetched(torch.cat((totals.double(), self._bad.double()))).tolist()
        bad = [name for name, is_bad in zip(self.parts, numbers[len(totals) :], strict=True) if is_bad]
        if bad:
            self._bad.zero_()
            self._stopped.zero_()
            raise NonFiniteGradient(bad[0])
        return numbers[: len(totals)]

    def step(self) -> None:
        """Frozen networks stay bit for bit, whatever moments they had; so do the moments, for these would
        fade without gradients and make the first steps after a thaw too large."""
        held = (self.values, *(v for v in self._adam.state.get(self._flat, {}).values() if v.dim()))
        kept = [(part, part.clone()) for values in held for part in self._frozen_parts(values)]
        self._adam.step()
        for part, before in kept:
            part.copy_(before)

    def _frozen_parts(self, values: Tensor) -> list[Tensor]:
        """Of a tensor as long as all values."""
        return [values[self._spans[name]] for name in self.frozen]

    def state_dict(self) -> dict[str, object]:
        state = self._adam.state.get(self._flat, {})
        learning = {} if self.learning is None else {"learning": self.learning.clone()}
        return {
            **learning,
            "learning_rate": self.learning_rate,
            "step": state.get("step", torch.zeros(())).clone(),
            "mean": state.get("exp_avg", torch.zeros_like(self.values)).clone(),
            "square": state.get("exp_avg_sq", torch.zeros_like(self.values)).clone(),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.learning_rate = float(state["learning_rate"])  # type: ignore[arg-type]
        tensors = {k: v for k, v in state.items() if isinstance(v, Tensor)}
        if self.learning is not None:
            self.learning.copy_(tensors.get("learning", self.values))
        self._adam.state[self._flat] = {
            "step": tensors["step"].to(self.values).clone(),
            "exp_avg": tensors["mean"].to(self.values).clone(),
            "exp_avg_sq": tensors["square"].to(self.values).clone(),
        }

"""Encoder and estimator: the hybrid prediction loss, back through the rollout's steps (Sec. 3.1, Table 9)."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.learning.config import EncoderConfig, OptimizerConfig
from ssr.learning.edge_sight import sawtooth
from ssr.learning.optimizer import FlatAdam
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.recollection import KEPT_AN_UPDATE, Recollection, Sequences, side_by_side
from ssr.learning.rollout import Rollout, Seen
from ssr.networks.build import Networks
from ssr.networks.encoder import Latents
from ssr.symmetry.structure import flip_width

LEAST_SHARE = 0.1  #: of a head's gradient that always reaches the encoder
LOSSES = ("foot_maps", "base_map", "next_proprioception", "divergence", "velocity", "edges")
#: Table 9; the weights of divergence and edges are settings
WEIGHTS = {"foot_maps": 1.0, "base_map": 2.0, "next_proprioception": 5.0, "velocity": 2.0}


def sequences(rollout: Rollout, hidden: Tensor, worlds: Tensor, seen: Seen | None = None) -> Sequences:
    """The chosen worlds (m,), which began with the memory hidden (n, H). seen: the images they saw, if
    somebody has them."""
    images, frame_index = seen or rollout.camera.of(worlds)
    return Sequences(
        history=rollout.history.windows(worlds),
        images=images,
        frame_index=frame_index,
        hidden=hidden[worlds],
        resets=rollout.restarted[:, worlds],
        privileged=rollout.privileged[:, worlds],
        next_proprioception=rollout.next_proprioception[:, worlds],
        valid=rollout.valid[:, worlds],
        unbroken=rollout.valid[:, worlds] & ~rollout.ended[:, worlds],
    )


def with_mirror_images(original: Sequences, mirrored_hidden: Tensor, networks: Networks) -> Sequences:
    """The same worlds and their mirror images side by side, (T, 2m, ...): input-level augmentation."""
    vectors = networks.layouts

    def both(x: Tensor, mirrored: Tensor) -> Tensor:
        return torch.cat((x, mirrored), 1)

    return Sequences(
        history=both(original.history, vectors.proprioception.mirror(original.history)),
        images=torch.cat((original.images, flip_width(original.images))),
        frame_index=both(original.frame_index, original.frame_index + len(original.images)),
        hidden=torch.cat((original.hidden, mirrored_hidden)),
        resets=both(original.resets, original.resets),
        privileged=both(original.privileged, vectors.privileged.mirror(original.privileged)),
        next_proprioception=both(
            original.next_proprioception, vectors.proprioception.mirror(original.next_proprioception)
        ),
        valid=both(original.valid, original.valid),
        unbroken=both(original.unbroken, original.unbroken),
    )


def _masked_mse(prediction: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Mean over dimensions, then over the samples where mask."""
    error = (prediction.float() - target).square().mean(-1)
    return (error * mask).sum() / mask.sum().clamp_min(1.0)


def encode(networks: Networks, batch: Sequences) -> Latents:
    """Latents (T, m, ·) of the sequences."""
    encoder = networks.encoder
    features = encoder.encode_images(batch.images)
    return encoder.sequence(batch.history, features, batch.frame_index, batch.hidden, batch.resets)[0]


def prediction_losses(networks: Networks, batch: Sequences, latents: Latents) -> dict[str, Tensor]:
    """Every part of the hybrid prediction loss, unweighted, in the order of LOSSES."""
    layout = networks.layouts.privileged
    said = networks.decoders(latents)
    velocity = networks.estimator(batch.history)
    valid, unbroken = batch.valid.float(), batch.unbroken.float()
    mean, log_variance = latents.mean.float(), latents.log_variance.float()
    true_map = layout.get(batch.privileged, "base_height_map")
    kl = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance).mean(-1)
    return {
        "foot_maps": _masked_mse(
            said.foot_height_maps, layout.get(batch.privileged, "foot_height_maps"), valid
        ),
        "base_map": _masked_mse(said.base_height_map, true_map, valid),
        "next_proprioception": _masked_mse(said.next_proprioception, batch.next_proprioception, unbroken),
        "divergence": (kl * valid).sum() / valid.sum().clamp_min(1.0),
        "velocity": _masked_mse(velocity, layout.get(batch.privileged, "base_velocity"), valid),
        "edges": _masked_mse(sawtooth(said.base_height_map.float()), sawtooth(true_map), valid),
    }


class Cut:
    """Latents cut off from the encoder, so that what decoders ask of it is weighed before it goes on.

    No decoder pulls harder at its latents than the base map's does at z^b: the next proprioception alone is
    four fifths of the weighted loss, and under one clip for all the edges of stairs were never learned. A
    tenth of its pull is left to each, so that level ground, where the map says little, silences none.
    """

    def __init__(self, latents: Latents) -> None:
        self.whole = (latents.base, latents.foot, latents.mean, latents.log_variance)
        base, foot, mean, log_variance = self.ends = [x.detach().requires_grad_() for x in self.whole]
        spread = torch.exp(0.5 * log_variance)
        noise = ((latents.proprioception - latents.mean) / torch.exp(0.5 * latents.log_variance)).detach()
        self.latents = Latents(foot, base, mean + spread * noise, mean, log_variance)

    def go_on(self) -> None:
        """Once the decoders' gradients have reached the cut: weigh them and pass them on to the encoder."""
        base, foot, *own = (torch.zeros_like(x) if x.grad is None else x.grad for x in self.ends)
        most = torch.linalg.vector_norm(base)
        limited = [base]
        for head in ([foot], own):
            norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(x) for x in head]))
            share = (most / norm.clamp_min(1e-12)).clamp(LEAST_SHARE, 1.0)
            limited += [x * share for x in head]
        torch.autograd.backward(self.whole, limited)


class EncoderTrainer:
    """One optimizer for encoder, decoders and estimator; no gradient of PPO ever enters them."""

    def __init__(
        self,
        networks: Networks,
        *,
        config: EncoderConfig,
        optimizer: OptimizerConfig | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        optimizer = optimizer or OptimizerConfig()
        self.networks, self.config = networks, config
        settings = {"divergence": config.divergence, "edges": config.edges * WEIGHTS["base_map"]}
        self.weights = {name: (WEIGHTS | settings)[name] for name in LOSSES}
        self.optimizer = FlatAdam(
            {"encoder": networks.encoder, "decoders": networks.decoders, "estimator": networks.estimator},
            learning_rate=config.learning_rate,
            max_gradient_norm=optimizer.max_gradient_norm,
            average=config.average,
            ranks=ranks,
        )
        self.earlier = Recollection(config.recalled)

    @property
    def blind(self) -> bool:
        """The estimator learns alone."""
        return self.optimizer.frozen >= {"encoder", "decoders"}

    def update(self, rollout: Rollout, memories: Tensor) -> dict[str, float]:
        """Truncated back-propagation through the rollout, minibatches of whole worlds.

        memories (sides, n, H): before its first step; of the mirrored input, too, if that is encoded.
        """
        hidden, *mirrored = memories
        device, parts = memories.device, self.config.minibatches
        totals = torch.zeros(len(self.weights) + 1, device=device)
        newest: list[Sequences] = []
        with self.optimizer.newest():
            for epoch in range(self.config.epochs):
                first = epoch == 0 and self.earlier.capacity > 0
                split = torch.randperm(rollout.num_envs, device=device).tensor_split(parts)
                for worlds, seen in zip(split, rollout.camera.shared_out(split), strict=True):
                    batch = sequences(rollout, hidden, worlds, seen)
                    if mirrored:
                        batch = with_mirror_images(batch, mirrored[0][worlds], self.networks)
                    if first and len(newest) < KEPT_AN_UPDATE:
                        newest.append(batch)
                    if len(self.earlier):
                        batch = side_by_side(batch, self.earlier.draw())
                    totals += self._step(batch)
        for batch in newest:
            self.earlier.put(batch)
        *values, active = self.optimizer.settle(totals / (self.config.epochs * parts))
        if self.blind:
            return {"encoder/velocity": values[LOSSES.index("velocity")]}
        weighted = {n: w * v for (n, w), v in zip(self.weights.items(), values, strict=True)}
        total = max(sum(weighted.values()), 1e-12)
        return {
            **{f"encoder/{name}": value for name, value in zip(self.weights, values, strict=True)},
            **{f"encoder_share/{name}": value / total for name, value in weighted.items()},
            "active_latents": active,
        }

    def _step(self, batch: Sequences) -> Tensor:
        if self.blind:
            return self._estimate(batch)
        cut = Cut(latents := encode(self.networks, batch))
        losses = prediction_losses(self.networks, batch, cut.latents)
        loss = torch.stack([weight * losses[name] for name, weight in self.weights.items()]).sum()
        extras = self.optimizer.extras[: len(self.weights) + 1]
        with torch.no_grad():
            # A latent dimension is active where its mean varies over the data; collapsed ones stay at zero.
            active = (latents.mean.flatten(0, 1).float().var(0) > 1e-2).sum()
            extras[:-1] = torch.stack([losses[name] for name in self.weights])
            extras[-1] = active
        with self.optimizer.gathering():
            loss.backward()
            cut.go_on()
        self.optimizer.step()
        return extras.clone()

    def _estimate(self, batch: Sequences) -> Tensor:
        """The estimator alone, which needs no encoder."""
        true = self.networks.layouts.privileged.get(batch.privileged, "base_velocity")
        loss = _masked_mse(self.networks.estimator(batch.history), true, batch.valid.float())
        extras = self.optimizer.extras[: len(self.weights) + 1]
        extras.zero_()
        extras[LOSSES.index("velocity")] = loss.detach()
        with self.optimizer.gathering():
            (self.weights["velocity"] * loss).backward()
        self.optimizer.step()
        return extras.clone()

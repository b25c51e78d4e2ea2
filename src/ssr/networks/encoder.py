"""The recurrent cross-modal encoder (§3.1, Theorem 1): proprioceptive history and depth → three latents.

    history (h, P) ── T ── MLP ──┐
                                 ├─ [u_L, v_L, u_R, v_R] ── GRU ── MLP ── heads ── z^f, z^b, (μ, log σ²) → z^p
    depth (36, 36) ─────── CNN ──┘

A camera is slower than control, so images are encoded apart: each distinct frame once, its features reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ssr.networks.config import CNN_KERNELS, CNN_STRIDES, NetworkConfig
from ssr.networks.convolution import DepthCNN
from ssr.networks.depth import Outlook, normalise_depth, relative_heights
from ssr.networks.gru import GRU
from ssr.networks.linear import ReorganizedLinear, linear
from ssr.networks.mlp import mlp
from ssr.symmetry.layout import Layout
from ssr.symmetry.structure import Reorganization, join_groups

GAIN = 1.6  #: of first weights over PyTorch's: about one for what passes a layer and ELU
FORGETTING = -2.0  #: first bias of the memory's update gate


class Latents(NamedTuple):
    """The encoder's output, (..., 16) each, in halves [left, right]."""

    foot: Tensor  #: z^f
    base: Tensor  #: z^b
    proprioception: Tensor  #: z^p: a sample while training, the mean otherwise
    mean: Tensor  #: μ of z^p
    log_variance: Tensor  #: of z^p, within ±10

    @property
    def vector(self) -> Tensor:
        """ẑ = [z^f, z^b, z^p], as the actor observation holds it."""
        return torch.cat((self.foot, self.base, self.proprioception), -1)


class CrossModalEncoder(nn.Module):
    """Equivariant in each head: mirrored history and mirrored image give latents with halves exchanged."""

    drops: Tensor  #: see `Outlook`

    def __init__(
        self,
        proprioception: Layout,
        joint_names: Sequence[str],
        config: NetworkConfig,
        outlook: Outlook | None = None,
    ) -> None:
        """outlook: of the camera, if images are to enter as heights."""
        super().__init__()
        c = config
        self.depth_range, self.outlook = c.depth_range, outlook
        if outlook is not None:
            self.register_buffer("drops", outlook.drops(c.image_size[0]), persistent=False)
        hidden, embedding = c.encoder_hidden, c.proprioception_embedding
        if c.equivariant:
            self.join = join_groups
            organized = Reorganization(proprioception, joint_names, c.history)
            self.motion = mlp(organized.size, hidden, embedding, equivariant=True)
            self.motion[0] = ReorganizedLinear(organized, (*hidden, embedding)[0])
        else:
            self.join = _concatenate
            self.motion = mlp(proprioception.size * c.history, hidden, embedding)
        self.flatten = nn.Identity() if c.equivariant else nn.Flatten(-2)
        self.image = DepthCNN(
            c.image_size, c.cnn_channels, CNN_KERNELS, CNN_STRIDES, equivariant=c.equivariant
        )
        self.memory = GRU(embedding + c.cnn_channels[-1], c.gru_hidden, equivariant=c.equivariant)
        self.fusion = mlp(c.gru_hidden, c.encoder_hidden, c.fusion_embedding, equivariant=c.equivariant)
        self.heads = linear(c.equivariant)(c.fusion_embedding, c.latent, blocks=4)
        _carry_signals(self)

    @property
    def hidden_size(self) -> int:
        return self.memory.hidden

    def encode_images(self, frames: Tensor) -> Tensor:
        """Depth frames (F, rows, columns) in metres → features (F, C)."""
        if self.outlook is None:
            return self.image(normalise_depth(frames, self.depth_range))
        return self.image(relative_heights(frames, self.depth_range, self.drops, self.outlook.height))

    def step(self, history: Tensor, image_features: Tensor, hidden: Tensor) -> tuple[Latents, Tensor]:
        """One control step of n robots: (n, h, P), (n, C), (n, H) → latents and the next hidden state."""
        motion = self.motion(self.flatten(history))
        hidden = self.memory.step(self.join(motion, image_features), hidden)
        return self.latents(hidden), hidden

    def sequence(
        self, history: Tensor, image_features: Tensor, frame_index: Tensor, hidden: Tensor, resets: Tensor
    ) -> tuple[Latents, Tensor]:
        """T control steps of n robots at once, equal to T calls of `step`.

        history: (T, n, h, P); image_features: (F, C) of the distinct frames; frame_index: (T, n), which of
        them each robot sees; hidden: (n, H) before the first step; resets: (T, n) bool, true where a robot's
        step begins a new episode. Returns latents (T, n, ·) and the last hidden state (n, H).
        """
        motion = self.motion(self.flatten(history))
        seen = image_features.index_select(0, frame_index.flatten()).unflatten(0, frame_index.shape)
        states = self.memory.sequence(self.join(motion, seen), hidden, resets)
        return self.latents(states), states[-1]

    def latents(self, hidden: Tensor) -> Latents:
        """What a memory (..., H) says; `step` and `sequence` return it of the memories they reach."""
        foot, base, mean, log_variance = self.heads(self.fusion(hidden)).chunk(4, -1)
        log_variance = log_variance.clamp(-10.0, 10.0)
        chosen = _sample(mean, log_variance) if self.training else mean
        return Latents(foot, base, chosen, mean, log_variance)


@torch.no_grad()
def _carry_signals(encoder: CrossModalEncoder) -> None:
    """First weights that keep what is small in an image alive through the eleven layers to its latent.

    PyTorch's make a signal 0.58 times as large a layer, and constants of their own drown it; a new memory
    that forgets is one that is trained through. docs/training-log.md has what became of edges with and
    without.
    """
    for name, parameter in encoder.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        else:
            parameter.mul_(GAIN)
    encoder.memory.forget(FORGETTING)


def _sample(mean: Tensor, log_variance: Tensor) -> Tensor:
    return mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)


def _concatenate(*features: Tensor) -> Tensor:
    return torch.cat(features, -1)

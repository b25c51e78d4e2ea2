"""Decoders: what each latent must be able to say about the world. Plain MLPs; only training needs them."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.encoder import Latents
from ssr.networks.mlp import mlp
from ssr.symmetry.vectors import Layouts


class Reconstruction(NamedTuple):
    """Predictions in the scaled units of the privileged state."""

    foot_height_maps: Tensor  #: Ĥ^f from z^f, (..., 100)
    base_height_map: Tensor  #: Ĥ^b from z^b, (..., 180)
    next_proprioception: Tensor  #: ô^p of the next step, noise-free, from z^p, (..., P)


class Decoders(nn.Module):
    def __init__(self, layouts: Layouts, config: NetworkConfig) -> None:
        super().__init__()
        size = {segment.name: segment.size for segment in layouts.privileged}
        self.foot = mlp(config.latent, config.decoder_hidden, size["foot_height_maps"])
        self.base = mlp(config.latent, config.decoder_hidden, size["base_height_map"])
        self.proprioception = mlp(config.latent, config.decoder_hidden, layouts.proprioception.size)

    def forward(self, latents: Latents) -> Reconstruction:
        return Reconstruction(
            self.foot(latents.foot),
            self.base(latents.base),
            self.proprioception(latents.proprioception),
        )

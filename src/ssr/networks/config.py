"""Widths of every network (Table 8). Widths of equivariant parts are totals over both mirror branches."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ssr.errors import UserError

Widths = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The defaults are the paper's; `cpu()` is the same architecture, narrower."""

    equivariant: bool = True  #: False: plain encoder of the same widths, for the ablations
    history: int = 10  #: frames of proprioception, h
    latent: int = 16  #: size of each of the three heads

    proprioception_hidden: Widths = (512, 256, 128)
    proprioception_embedding: int = 128

    image_size: tuple[int, int] = (36, 36)  #: rows, columns
    depth_range: tuple[float, float] = (0.1, 3.0)  #: metres
    cnn_channels: Widths = (32, 64, 128)  #: the last one is the image embedding
    cnn_kernels: Widths = (8, 4, 3)
    cnn_strides: Widths = (4, 2, 2)

    gru_hidden: int = 256
    fusion_hidden: Widths = (512, 256, 128)
    fusion_embedding: int = 48
    decoder_hidden: Widths = (64, 128)
    dynamics_decoder: bool = False  #: z^p must tell the robot's delay, payload and mass centre, too

    estimator_hidden: Widths = (512, 256, 128)

    experts: int = 5
    expert_hidden: Widths = (1024, 512, 128)
    gate_hidden: Widths = (128,)
    initial_std: float = 1.0
    min_std: float = 0.2
    max_std: float = inf

    mirror_averaged: bool = False  #: actor and critics average what they say of a state and its mirror image

    streams: tuple[str, ...] = ("locomotion", "foothold", "style")  #: r^l, r^f, r^s: one critic each
    critic_hidden: Widths = (512, 256, 128)

    discriminators: int = 5
    discriminator_hidden: Widths = (512, 256, 128)
    amp_window: int = 5  #: frames

    imagination_hidden: Widths = (256, 128)
    foothold_std_range: tuple[float, float] = (0.01, 0.25)  #: metres, open interval

    def __post_init__(self) -> None:
        if not len(self.cnn_channels) == len(self.cnn_kernels) == len(self.cnn_strides):
            raise UserError(
                "The depth encoder needs one channel count, kernel and stride per layer, got "
                f"{self.cnn_channels}, {self.cnn_kernels} and {self.cnn_strides}."
            )
        if self.equivariant:
            self._require_even_widths()
        elif self.mirror_averaged:
            raise UserError(
                "network.mirror_averaged mirrors latents, and those of a plain encoder have no mirror image: "
                "leave it off with no_symmetry and input_symmetry."
            )

    def _require_even_widths(self) -> None:
        widths = {
            "latent": (self.latent,),
            "proprioception_hidden": self.proprioception_hidden,
            "proprioception_embedding": (self.proprioception_embedding,),
            "cnn_channels": self.cnn_channels,
            "gru_hidden": (self.gru_hidden,),
            "fusion_hidden": self.fusion_hidden,
            "fusion_embedding": (self.fusion_embedding,),
        }
        for name, values in widths.items():
            odd = [v for v in values if v % 2]
            if odd:
                raise UserError(
                    f"{name}: {odd[0]} is odd, and an equivariant layer has two equal branches: make it even."
                )

    @staticmethod
    def cpu() -> NetworkConfig:
        """About a quarter of the paper's widths and half its history: what two cores can train."""
        return NetworkConfig(
            history=5,
            proprioception_hidden=(128, 64),
            proprioception_embedding=64,
            cnn_channels=(16, 32, 64),
            gru_hidden=128,
            fusion_hidden=(128, 64),
            estimator_hidden=(128, 64),
            expert_hidden=(192, 96, 64),
            gate_hidden=(64,),
            critic_hidden=(192, 96, 64),
            discriminator_hidden=(192, 96),
            imagination_hidden=(128, 64),
        )

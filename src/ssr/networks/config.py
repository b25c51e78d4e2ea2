"""Widths of every network (Table 8). Widths of equivariant parts are totals over both mirror branches."""

from __future__ import annotations

from typing import Annotated

from ssr.errors import UserError
from ssr.ranges import Within, settings

Width = Annotated[int, Within(1, 65_536)]
Widths = Annotated[tuple[int, ...], Within(1, 65_536)]


CNN_KERNELS = (8, 4, 3)
CNN_STRIDES = (4, 2, 2)


@settings("network")
class NetworkWidths:
    """What a user may set. The defaults are the paper's."""

    encoder_hidden: Widths = (
        512,
        256,
        128,
    )  #: of proprioception and fusion, and of the estimator
    proprioception_embedding: Width = 128
    cnn_channels: Widths = (32, 64, 128)  #: the last one is the image embedding
    heights: bool = False  #: images enter as heights below the camera instead of depths
    gru_hidden: Width = 256

    expert_hidden: Widths = (1024, 512, 128)
    gate_hidden: Widths = (128,)
    mirror_averaged: bool = False
    """Actor and critics average what they say of a state and its mirror image. No preset uses it;
    `pretrained/x2` was trained with it and needs it to load."""

    critic_hidden: Widths = (512, 256, 128)
    discriminator_hidden: Widths = (512, 256, 128)
    imagination_hidden: Widths = (256, 128)

    def __post_init__(self) -> None:
        if len(self.cnn_channels) != len(CNN_KERNELS):
            raise UserError(
                f"network.cnn_channels {self.cnn_channels}: expected {len(CNN_KERNELS)} numbers, one a layer."
            )


@settings("network")
class NetworkConfig(NetworkWidths):
    """Widths, the sizes that no training has needed to change, and what follows from task, camera and
    ablation."""

    latent: Width = 16  #: size of each of the three heads
    fusion_embedding: Width = 48
    decoder_hidden: Widths = (64, 128)
    experts: Annotated[int, Within(1, 64)] = 5

    equivariant: bool = True  #: False: plain encoder of the same widths, for the ablations
    history: Annotated[int, Within(1, 100)] = 10  #: frames of proprioception, h
    image_size: Annotated[tuple[int, int], Within(1, 4096)] = (36, 36)  #: rows, columns
    depth_range: Annotated[tuple[float, float], Within(0.0, 100.0, rising=True)] = (0.1, 3.0)  #: metres
    vertical_view: Annotated[float, Within(0.01, 3.1)] = 1.0123  #: rad, of an image from top to bottom
    initial_std: Annotated[float, Within(1e-3, 100.0)] = 1.0
    streams: tuple[str, ...] = ("locomotion", "foothold", "style")  #: r^l, r^f, r^s: one critic each
    discriminators: Annotated[int, Within(1, 64)] = 5
    amp_window: Annotated[int, Within(2, 100)] = 5  #: frames

    def __post_init__(self) -> None:
        super().__post_init__()
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
            "encoder_hidden": self.encoder_hidden,
            "proprioception_embedding": (self.proprioception_embedding,),
            "cnn_channels": self.cnn_channels,
            "gru_hidden": (self.gru_hidden,),
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
        return NetworkConfig(**vars(NARROW), history=5)


NARROW = NetworkWidths(
    encoder_hidden=(128, 64),
    proprioception_embedding=64,
    cnn_channels=(16, 32, 64),
    gru_hidden=128,
    expert_hidden=(192, 96, 64),
    gate_hidden=(64,),
    critic_hidden=(192, 96, 64),
    discriminator_hidden=(192, 96),
    imagination_hidden=(128, 64),
)

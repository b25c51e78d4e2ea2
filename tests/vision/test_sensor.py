"""The sensor model spoils images the way a stereo camera does, and only when asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ssr.vision.sensor import SensorConfig, sense

PERFECT = SensorConfig(enabled=True, noise_at_1m=0.0, dropped=0.0, band_columns=0, blades=0)
NEAR, FAR = 0.1, 3.0


def through(config: SensorConfig, depth: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return sense(depth, config, NEAR, FAR, torch.Generator().manual_seed(seed))


def flat(depth: float, images: int = 200) -> torch.Tensor:
    return torch.full((images, 36, 36), depth)


def test_it_is_off_by_default() -> None:
    image = flat(1.0, 3)
    assert torch.equal(through(SensorConfig(), image), image)


def test_with_every_effect_at_zero_nothing_changes() -> None:
    assert torch.equal(through(PERFECT, flat(1.3)), flat(1.3))


@pytest.mark.parametrize("depth", [0.5, 1.0, 2.0])
def test_noise_grows_with_the_square_of_depth(depth: float) -> None:
    seen = through(replace(PERFECT, noise_at_1m=0.01), flat(depth))
    assert seen.std().item() == pytest.approx(0.01 * depth**2, rel=0.02)
    assert seen.mean().item() == pytest.approx(depth, abs=1e-3)


@pytest.mark.parametrize("invalid, value", [("near", NEAR), ("far", FAR)])
def test_dropped_pixels_read_as_asked(invalid: str, value: float) -> None:
    seen = through(replace(PERFECT, dropped=0.05, invalid=invalid), flat(1.0))  # type: ignore[arg-type]
    missing = seen == value
    assert missing.float().mean().item() == pytest.approx(0.05, rel=0.05)
    assert (seen[~missing] == 1.0).all()


def test_the_blind_band_is_on_the_left_and_varies() -> None:
    blind = through(replace(PERFECT, band_columns=3), flat(1.0)) == NEAR
    assert not blind[:, :, 3:].any()
    widths = blind[:, 0].sum(1)
    assert set(widths.tolist()) == {0, 1, 2, 3}
    assert (blind == (torch.arange(36) < widths[:, None])[:, None]).all()


def test_grass_stands_before_what_is_farther_and_grows_from_below() -> None:
    config = replace(PERFECT, blades=4, blade_presence=0.5, blade_lean=0.0)
    seen = through(config, flat(2.0))
    grass = seen < 2.0
    assert 0.01 < grass.float().mean() < 0.3
    assert ((seen[grass] >= 0.15) & (seen[grass] <= 0.6)).all()
    assert (grass[:, 1:].int() >= grass[:, :-1].int()).all()  # an upright blade goes on to the bottom row
    assert torch.equal(through(config, flat(0.12)), flat(0.12))


def test_results_stay_within_the_depth_range_and_the_input_is_left_alone() -> None:
    image = torch.rand(50, 36, 36, generator=torch.Generator().manual_seed(1)) * 2.9 + 0.1
    before = image.clone()
    seen = through(SensorConfig(enabled=True, noise_at_1m=0.5), image)
    assert torch.equal(image, before)
    assert ((seen >= NEAR) & (seen <= FAR)).all()
    assert torch.equal(seen, through(SensorConfig(enabled=True, noise_at_1m=0.5), image))
    assert not torch.equal(seen, through(SensorConfig(enabled=True, noise_at_1m=0.5), image, seed=1))

"""The sensor model spoils images the way a stereo camera does, and only when asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ssr.vision.sensor import BAND_COLUMNS, SensorConfig, sense

PERFECT = SensorConfig(enabled=True, noise_at_1m=0.0, dropped=0.0, blades=0)
NEAR, FAR = 0.1, 3.0


def through(config: SensorConfig, depth: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return sense(depth, config, NEAR, FAR, torch.Generator().manual_seed(seed))


def beside_the_band(image: torch.Tensor) -> torch.Tensor:
    """What both imagers always see."""
    return image[:, :, BAND_COLUMNS:]


def flat(depth: float, images: int = 200) -> torch.Tensor:
    return torch.full((images, 36, 36), depth)


def test_it_is_off_by_default() -> None:
    image = flat(1.0, 3)
    assert torch.equal(through(SensorConfig(), image), image)


def test_with_every_effect_at_zero_nothing_changes() -> None:
    assert (beside_the_band(through(PERFECT, flat(1.3))) == 1.3).all()


@pytest.mark.parametrize("depth", [0.5, 1.0, 2.0])
def test_noise_grows_with_the_square_of_depth(depth: float) -> None:
    seen = beside_the_band(through(replace(PERFECT, noise_at_1m=0.01), flat(depth)))
    assert seen.std().item() == pytest.approx(0.01 * depth**2, rel=0.02)
    assert seen.mean().item() == pytest.approx(depth, abs=1e-3)


def test_dropped_pixels_read_near() -> None:
    seen = beside_the_band(through(replace(PERFECT, dropped=0.05), flat(1.0)))
    missing = seen == NEAR
    assert missing.float().mean().item() == pytest.approx(0.05, rel=0.05)
    assert (seen[~missing] == 1.0).all()


def test_the_blind_band_is_on_the_left_and_varies() -> None:
    blind = through(PERFECT, flat(1.0)) == NEAR
    assert not beside_the_band(blind).any()
    widths = blind[:, 0].sum(1)
    assert set(widths.tolist()) == set(range(BAND_COLUMNS + 1))
    assert (blind == (torch.arange(36) < widths[:, None])[:, None]).all()


def test_grass_stands_before_what_is_farther_and_grows_from_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssr.vision.sensor.BLADE_LEAN", 0.0)
    config = replace(PERFECT, blades=6)
    seen = beside_the_band(through(config, flat(2.0)))
    grass = seen < 2.0
    assert 0.01 < grass.float().mean() < 0.3
    assert ((seen[grass] >= 0.15) & (seen[grass] <= 0.6)).all()
    assert (grass[:, 1:].int() >= grass[:, :-1].int()).all()  # an upright blade goes on to the bottom row
    assert (beside_the_band(through(config, flat(0.12))) == 0.12).all(), "nothing stands before what is near"


def test_results_stay_within_the_depth_range_and_the_input_is_left_alone() -> None:
    image = torch.rand(50, 36, 36, generator=torch.Generator().manual_seed(1)) * 2.9 + 0.1
    before = image.clone()
    seen = through(SensorConfig(enabled=True, noise_at_1m=0.5), image)
    assert torch.equal(image, before)
    assert ((seen >= NEAR) & (seen <= FAR)).all()
    assert torch.equal(seen, through(SensorConfig(enabled=True, noise_at_1m=0.5), image))
    assert not torch.equal(seen, through(SensorConfig(enabled=True, noise_at_1m=0.5), image, seed=1))

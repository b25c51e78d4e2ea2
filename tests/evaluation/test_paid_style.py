"""Style as a run's own discriminators pay it: the windows training would have shown them, and no others."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from ssr.evaluation import subject
from ssr.evaluation.gait import WARM_UP
from ssr.evaluation.paid_style import EVERY, StyleMeter
from ssr.learning import presets
from ssr.learning.moments import RunningNormalizer
from ssr.learning.ssr_policy import network_config
from ssr.learning.style import style_reward
from ssr.learning.style_judge import OwnDiscriminators
from ssr.motion.frames import STRIDE, WINDOW
from ssr.networks.build import Networks
from ssr.robots import load

PERIOD = 0.02
FIRST = round(WARM_UP / PERIOD)


class Witness:
    """Pays 1 to everyone and remembers what it was shown."""

    frames = 5

    def __init__(self, stride: int = 2) -> None:
        self.stride = stride
        self.seen: list[torch.Tensor] = []

    def pay(self, windows: torch.Tensor, terrain_type: torch.Tensor) -> torch.Tensor:
        self.seen.append(windows)
        return torch.ones(len(windows))


def step(number: int, worlds: int = 2) -> SimpleNamespace:
    """A control step whose frame holds its own number."""
    return SimpleNamespace(
        amp_frame=torch.full((worlds, 3), float(number)),
        valid=torch.ones(worlds, dtype=torch.bool),
        terrain_type=torch.zeros(worlds, dtype=torch.long),
    )


def test_windows_end_now_with_frames_two_steps_apart_and_count_while_a_trial_runs() -> None:
    witness, last = Witness(), FIRST + 20
    meter = StyleMeter(witness, 2, PERIOD)  # type: ignore[arg-type]
    for number in range(1, last + 1):
        meter.observe(step(number), torch.tensor([True, number <= FIRST + 10]))  # type: ignore[arg-type]
    newest = [int(windows[0, -1, 0]) for windows in witness.seen]
    assert newest == [n for n in range(1, last + 1) if n >= FIRST and n % EVERY == 0]
    assert witness.seen[0][0, :, 0].tolist() == [newest[0] - 2 * k for k in (4, 3, 2, 1, 0)]
    assert meter.windows.tolist() == [len(newest), sum(n <= FIRST + 10 for n in newest)]
    assert meter.paid.tolist() == meter.windows.tolist()


def test_frames_further_apart_are_means_of_as_many_steps() -> None:
    stride, last = 6, FIRST + 20
    witness = Witness(stride)
    meter = StyleMeter(witness, 2, PERIOD)  # type: ignore[arg-type]
    for number in range(1, last + 1):
        meter.observe(step(number), torch.ones(2, dtype=torch.bool))  # type: ignore[arg-type]
    newest = next(n for n in range(FIRST, last) if n % EVERY == 0)
    means = [newest - stride * k - (stride - 1) / 2 for k in (4, 3, 2, 1, 0)]
    assert witness.seen[0][0, :, 0].tolist() == pytest.approx(means)


def test_each_terrain_type_has_its_own_discriminator_behind_the_run_s_normaliser() -> None:
    torch.manual_seed(0)
    networks = Networks(load("x2"), network_config(presets.preset("smoke")))
    normalizer = RunningNormalizer(networks.layouts.amp.size)
    normalizer.update(3.0 + 2.0 * torch.randn(500, networks.layouts.amp.size))
    windows = 3.0 + 2.0 * torch.randn(6, WINDOW, networks.layouts.amp.size)
    paid = OwnDiscriminators(networks.discriminators, normalizer, STRIDE).pay(
        windows, torch.tensor([0, 1, 2, 3, 4, 1])
    )
    for k, which in enumerate((0, 1, 2, 3, 4, 1)):
        alone = networks.discriminators(normalizer(windows[k]).flatten().expand(5, 1, -1))[which, 0]
        assert float(paid[k]) == pytest.approx(float(style_reward(alone.detach())), abs=1e-5)


def test_weights_without_a_normaliser_leave_style_unknown(run: Path) -> None:
    assert subject.load(str(run)).style_judge is None
    assert subject.load("scripted:stand").style_judge is None

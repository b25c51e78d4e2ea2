"""What is shown of training is complete, on a terminal and in a log file."""

import io
import re
from math import inf

import pytest
from rich.console import Console

from ssr.learning.config import ScheduleConfig
from ssr.learning.display import Display, duration, panel
from ssr.learning.schedule import WIDENING, Schedule
from ssr.task.commands import WIDE

METRICS = {
    "iteration": 3.0, "steps_per_second": 2345.6, "total_steps": 1.5e6, "return/locomotion": 1.25,
    "return/foothold": 0.5, "return/style": 0.25, "level/stairs": 4.2, "learning_rate": 5e-4, "kl": 0.012,
    "std": 0.81, "foothold_rmse": 0.07, "active_latents": 9.0, "score_reference/gap": 0.6,
    "score_policy/gap": -0.4, "tracking": 0.9,
}  # fmt: skip


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Display(10, 0, stream, every=0.0) as display:
        display.show(METRICS)
        display.show(METRICS)
    legend = [line for line in stream.getvalue().splitlines() if line.startswith("#")]
    lines = [line for line in stream.getvalue().splitlines() if not line.startswith("#")]
    assert len(lines) == 2 and "\x1b" not in stream.getvalue()
    assert max(map(len, legend)) < 110 and "st stairs" in "".join(legend)
    for word in re.findall(r"[a-z]{3,}(?= [–\d])", lines[0]):
        assert word in "".join(legend), f"{word} is not explained"
    text = lines[0]
    for part in (
        "3/10",
        "2,346 steps/s",
        "1.50M",
        "1.25/0.50/0.25",
        "st4.2",
        "kl 0.012",
        "rmse 0.070",
        "left 0:00:0",
    ):
        assert part in text, part


def test_panel_shows_every_part():
    console = Console(file=io.StringIO(), width=160)
    console.print(panel(METRICS))
    text = console.file.getvalue()
    for part in ("stairs 4.2", "lr 5.0e-04", "RMSE m 0.070", "active latents 9.0", "gap -0.40", "style 0.25"):
        assert part in text, part


def test_durations():
    assert (duration(59), duration(3661)) == ("0:00:59", "1:01:01")


def test_bootstrap_fades_by_walking_and_returns_when_it_is_lost():
    schedule = Schedule(
        ScheduleConfig(bootstrap=(1.0, 0.0), ramp=(0.0, 1.0), fade_iterations=10, ramp_iterations=20)
    )
    for _ in range(5):
        schedule.advance(tracking=0.1, survival=1.0)
    assert (schedule.bootstrap, schedule.ramp) == (1.0, 0.0), "standing changes nothing, however long"
    for _ in range(60):
        schedule.advance(tracking=0.95, survival=0.9)
    assert schedule.bootstrap == 1.0 and 0.0 < schedule.ramp < WIDE, "directions are learned while it is on"
    for _ in range(WIDENING + 20):
        schedule.advance(tracking=0.95, survival=0.9)
    assert schedule.bootstrap == 0.0 and schedule.ramp == 1.0
    for _ in range(12):
        schedule.advance(tracking=0.0, survival=0.2)
    assert 0.0 < schedule.bootstrap <= 1.0 and schedule.ramp == 1.0


def test_randomization_waits_for_a_steadier_walk_than_the_bootstrap():
    schedule = Schedule(ScheduleConfig(bootstrap=(1.0, 0.0), ramp=(0.0, 1.0), fade_iterations=10))
    for _ in range(WIDENING + 60):
        schedule.advance(tracking=0.95, survival=0.07)
    assert (schedule.bootstrap, schedule.ramp) == (0.0, WIDE), "commands widen, nothing more"
    for _ in range(9):
        schedule.advance(tracking=0.95, survival=0.9)
    assert schedule.ramp > WIDE


def test_the_paper_has_neither():
    schedule = Schedule(ScheduleConfig())
    schedule.advance(tracking=0.0, survival=0.0)
    assert (schedule.bootstrap, schedule.ramp) == (0.0, 1.0)


def test_noise_and_entropy_go_with_the_bootstrap_and_steps_with_the_run():
    config = ScheduleConfig(
        bootstrap=(1.0, 0.5), min_std=(0.7, 0.1), max_std=(1.0, 0.25), entropy=(0.005, 0.001),
        desired_kl=(0.02, 0.005),
    )  # fmt: skip
    schedule = Schedule(config)
    assert schedule.std_range == (0.7, 1.0) and schedule.entropy_coefficient == 0.005
    schedule.bootstrap = 0.75
    assert schedule.std_range == pytest.approx((0.4, 0.625))
    schedule.bootstrap = 0.5
    assert schedule.std_range == pytest.approx((0.1, 0.25))
    assert schedule.entropy_coefficient == pytest.approx(0.001)
    steps = {}
    for schedule.progress in (0.0, 2 / 3, 5 / 6, 1.0):
        steps[schedule.progress] = schedule.desired_kl
    assert list(steps.values()) == pytest.approx([0.02, 0.02, 0.0125, 0.005])
    assert Schedule(ScheduleConfig()).std_range == (0.2, inf), "the paper's floor"


def test_a_schedule_goes_on_from_anothers_state_within_its_own_bounds():
    schedule = Schedule(ScheduleConfig(bootstrap=(0.4, 0.0), ramp=(1.0, 1.0)))
    schedule.load_state_dict({"bootstrap": 0.9, "ramp": 0.3, "tracking": 0.8, "survival": 0.7})
    assert (schedule.bootstrap, schedule.ramp, schedule.tracking) == (0.4, 1.0, 0.8)

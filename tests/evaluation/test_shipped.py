"""The shipped policy walks as it did when it was trained, whatever has been renamed since."""

from pathlib import Path

import pytest
import torch

from ssr.evaluation import subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.trials import FELL, LASTED, run_trials

SHIPPED = Path(__file__).parents[2] / "pretrained" / "x2"
SAME = 0.03  #: m; another processor rounds otherwise, and walking makes more of it

# What the commit that shipped the policy gives for six trials of 4 s: endings, seconds, m along the strip.
RECORDED = [
    (
        Course.of("stairs_up", 0.18, 0.27),
        [LASTED] * 6,
        [4.0] * 6,
        [2.270026, 2.627819, 3.306952, 2.766102, 3.173451, 3.282148],
    ),
    (  # wider than it has learned: it steps into the gap
        Course.of("gap", 1.1),
        [FELL] * 6,
        [1.56, 1.54, 2.12, 1.48, 1.74, 2.0],
        [1.044776, 1.052926, 1.246852, 0.981744, 1.101914, 1.373512],
    ),
]


@pytest.mark.parametrize(
    ("course", "ending", "seconds", "distance"), RECORDED, ids=lambda x: getattr(x, "key", "")
)
def test_it_survives_and_gets_as_far_as_before(
    course: Course, ending: list[int], seconds: list[float], distance: list[float]
) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as evaluation does: products must round alike
    try:
        trials = run_trials(subject.load(str(SHIPPED)), course, Conditions(seconds=4.0), 0, 6, chunk=6)
    finally:
        torch.set_num_threads(threads)
    assert trials.ending.tolist() == ending
    assert trials.seconds.tolist() == pytest.approx(seconds, abs=0.1)
    assert trials.distance.tolist() == pytest.approx(distance, abs=SAME)

"""A film shows the very trial that was evaluated."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ssr.evaluation import film, subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.trials import run_trials
from ssr.pictures.offscreen import working_backend

STAIRS, SHORT = Course.of("stairs_down", 0.15, 0.30), Conditions(seconds=0.8)


def test_the_film_shows_the_trial_of_the_evaluation(run: Path) -> None:
    torch.set_num_threads(1)
    tried = subject.load(str(run))
    trials = run_trials(tried, STAIRS, SHORT, 0, 3, chunk=4)
    take = film.record(tried, STAIRS, SHORT, trial=2, chunk=4)
    assert len(take.qpos) * take.period == pytest.approx(trials.seconds[2])
    own = trials.foothold_trial == 2
    assert np.array_equal(take.footholds.position, trials.foothold_position[own])
    assert take.depth is not None and take.depth.shape[1:] == (36, 36)
    assert take.imagined is not None and take.imagined.shape == (len(take.qpos), 2, 3)


@pytest.mark.skipif(working_backend() is None, reason="no offscreen OpenGL on this machine")
def test_film_and_strip_are_written(run: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(film, "HOLD", 1)
    take = film.record(subject.load(str(run)), STAIRS, Conditions(seconds=0.08), trial=0, chunk=1)
    made, strip = film.save(take, tmp_path, "walk")
    assert made.stat().st_size > 1000 and made.read_bytes()[4:8] == b"ftyp"
    picture = np.array(Image.open(strip))
    assert picture.shape == (2 * film.PANEL, 2 * film.PANEL, 3)  # two moments, two views
    assert picture.std() > 10


def test_the_onlooker_keeps_the_head_in_the_picture_of_a_climb() -> None:
    """No bump of the walk moves it, and no climb leaves it behind."""
    climb = np.linspace(0.7, 3.7, 400)
    followed = film._smooth(climb + 0.03 * np.sin(np.arange(400)), width=20.0)
    np.testing.assert_allclose(followed[60:-60], climb[60:-60], atol=0.005)
    np.testing.assert_allclose(followed, climb, atol=0.15)

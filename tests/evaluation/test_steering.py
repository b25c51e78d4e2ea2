"""What a policy has learned to follow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ssr import pretrained
from ssr.evaluation import directions, steering, subject
from ssr.evaluation.directions import REPEATS, Paths


def paths(share: float) -> Paths:
    """Robots that do this share of what is asked ahead and to the left, and nothing else; one in two falls
    when it turns to the right, though it turns."""
    asked = np.array(directions.commands())
    ends = share * asked[:, :2] * directions.SECONDS
    ends[[4, 6]] = 0.0
    turned = np.zeros((len(asked), REPEATS))
    turned[9] = -directions.TURN * directions.SECONDS
    lasted = np.ones((len(asked), REPEATS), dtype=bool)
    lasted[9, :5] = False
    return Paths(
        position=np.repeat(ends[:, None, None], REPEATS, axis=1).astype(np.float32),
        turned=turned,
        lasted=lasted,
    )


def test_what_is_done_as_asked_is_learned() -> None:
    found = steering.of(paths(0.8))
    assert found["forward"].share == pytest.approx(0.8) and found["left"].share == pytest.approx(0.8)
    assert {sense for sense, followed in found.items() if followed.learned} == {"forward", "left"}
    assert found["turn right"].share == 1.0 and not found["turn right"].learned, "it falls"
    assert not any(followed.learned for followed in steering.of(paths(0.4)).values())


def test_the_shipped_policy_comes_with_what_it_learned() -> None:
    """Measured of these very weights, so that nobody waits for it."""
    shipped = subject.load("x2")
    known = steering.kept("x2", shipped)
    assert known is not None
    assert {sense for sense, followed in known.items() if followed.learned} == {"forward"}


def test_other_weights_and_broken_files_are_not_believed(tmp_path: Path) -> None:
    shipped = subject.load("x2")
    known = steering.kept("x2", shipped)
    assert known is not None
    run = tmp_path / "run"
    run.mkdir()
    (run / "small.safetensors").symlink_to(pretrained.located("x2").resolve() / "small.safetensors")
    source = str(run / "small.safetensors")
    assert steering.kept(source, shipped) is None
    steering.keep(run, shipped, known)
    assert steering.kept(source, shipped) == known
    content = json.loads((run / steering.FILE).read_text())
    (run / steering.FILE).write_text(json.dumps(content | {"weights": "others"}))
    assert steering.kept(source, shipped) is None
    (run / steering.FILE).write_text("{")
    assert steering.kept(source, shipped) is None

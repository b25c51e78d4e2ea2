"""`ssr camera` shows both views, and says what is wrong in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ssr.cli.main import main
from ssr.pictures import offscreen


def test_it_says_what_is_in_view(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["camera", "--terrain", "gap", "--level", "12"]) == 0
    said = capsys.readouterr().out
    assert "AgiBot X2 on gap, level 12" in said and "56.2° × 58.0°" in said


@pytest.mark.parametrize("drawn_by", ["opengl", "hand"])
def test_the_picture_shows_depth_beside_the_scene(
    drawn_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if drawn_by == "hand":
        monkeypatch.setattr(offscreen, "working_backend", lambda: None)
    elif offscreen.working_backend() is None:
        pytest.skip("no offscreen OpenGL here")
    path = tmp_path / "out.png"
    assert main(["camera", "--terrain", "platform", "--pose", "step", "--picture", str(path)]) == 0
    picture = np.asarray(Image.open(path).convert("RGB")).astype(float)
    left, right = np.array_split(picture, 2, axis=1)
    assert left.std() > 20 and right.std() > 10
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--terrain", "gapp"], "Unknown terrain kind: 'gapp'"),
        (["--terrain", "gap", "--level", "30"], "Level 30"),
        (["--terrain", "gap", "--x", "99"], "x = 99 m"),
        (["--terrain", "flat", "--picture", "out.jpg"], "must end in .png"),
        (["--robot", "x9"], "Unknown robot: 'x9'"),
        (["--seed", "-1"], "--seed -1"),
    ],
)
def test_mistakes_are_answered_in_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["camera", *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert complaint in said and "\n" not in said

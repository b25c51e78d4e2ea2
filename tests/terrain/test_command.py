"""`ssr terrain` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from ssr.cli.main import main
from ssr.terrain import draw


@pytest.mark.parametrize(
    "arguments",
    [
        "stairs_up --level 19",
        "stairs_down --setting 0.15/0.30 --strip",
        "gap --setting 0.9 --strip",
        "platform --level 3 --strip --seed 4",
        "slope --setting -15",
        "flat",
        "",
    ],
)
def test_what_was_asked_for_is_described(arguments: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["terrain", *arguments.split()]) == 0
    shown = capsys.readouterr().out
    assert (arguments.split() or ["stairs_down"])[0] in shown


@pytest.mark.parametrize(
    "arguments",
    [
        "stair --level 3",
        "gap --level 25",
        "gap --level -1",
        "gap --level three",
        "gap",
        "gap --strip",
        "gap --setting wide",
        "gap --setting 7",
        "stairs_up --setting 0.15",
        "gap --level 3 --setting 0.4",
        "gap --level 3 --seed -1",
        "gap --level 3 --picture out.jpg",
        "gap --level 3 --picture no/such/folder/out.png",
    ],
)
def test_a_mistake_is_one_line_and_code_2(arguments: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["terrain", *arguments.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1
    assert shown.err.startswith("ssr terrain: ")


@pytest.mark.parametrize("with_gl", [True, False])
def test_a_picture_is_written_with_and_without_opengl(
    with_gl: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_gl:
        monkeypatch.setattr(draw, "render", lambda tile: None)
    path = tmp_path / "out.png"
    assert main(["terrain", "stairs_up", "--level", "19", "--picture", str(path)]) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["out.png"]
    picture = matplotlib.image.imread(path)
    assert min(picture.shape[:2]) > 300
    assert np.ptp(picture[..., :3]) > 0.5

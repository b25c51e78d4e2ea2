"""A file is there as a whole or not at all."""

from pathlib import Path

import pytest

from ssr.files import digest, replacing, write_json, write_text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("half of the ne")
        assert path.read_text() == "old" and partial.suffix == ".png"
        raise RuntimeError("stopped")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_finished_write_replaces_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    write_json(path, [1, 2])
    first = digest(path)
    write_json(path, [1, 2, 3])
    assert path.read_text() == "[1, 2, 3]" and digest(path) != first
    assert list(tmp_path.iterdir()) == [path]


def test_what_json_cannot_say_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "numbers.json", float("nan"))
    assert not list(tmp_path.iterdir())

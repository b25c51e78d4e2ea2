"""A file is there as a whole or not at all, and a record says what it said when it was written."""

import json
from pathlib import Path

import pytest

from ssr.files import SEAL, digest, replacing, with_seal, without_seal, write_json, write_text


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


RECORD = {"format": 3, "rows": [{"success": 0.1, 7: (1, None)}], "name": "a – b"}


def test_a_sealed_record_comes_back_and_one_without_a_seal_is_taken_as_it_is() -> None:
    plain = json.loads(json.dumps(RECORD))
    assert without_seal(json.dumps(with_seal(RECORD), indent=1)) == plain
    assert without_seal(json.dumps(RECORD)) == plain
    with pytest.raises(KeyError):
        without_seal(json.dumps(RECORD), required=True)


@pytest.mark.parametrize("value", [0.10000000000000002, None, "0.1", True, [], {}])
def test_a_record_whose_numbers_were_changed_is_refused(value: object) -> None:
    record = with_seal(RECORD)
    record["rows"][0]["success"] = value
    with pytest.raises(ValueError, match="checksum"):
        without_seal(json.dumps(record))
    with pytest.raises(ValueError, match="checksum"):
        without_seal(json.dumps(record | {SEAL: value}))
    with pytest.raises(ValueError, match="not a record"):
        without_seal("[]")

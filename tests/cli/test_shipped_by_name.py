"""The name of a policy that ships, where a run directory would be written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssr import pretrained
from ssr.cli.main import main
from ssr.errors import UserError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_copy_can_be_written_to_and_is_made_as_often_as_asked() -> None:
    for _ in range(2):
        run = pretrained.copied("x2")
    assert run == Path("out/x2")
    shipped = pretrained.folder() / "x2"
    assert {file.name for file in run.iterdir()} == set(pretrained.FILES)
    assert all((run / name).read_bytes() == (shipped / name).read_bytes() for name in pretrained.FILES)


def test_what_lies_in_its_place_is_not_overwritten() -> None:
    own = Path("out/x2/small.safetensors")
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    with pytest.raises(UserError, match="Move out/x2 away"):
        pretrained.copied("x2")
    assert own.read_bytes() == b"mine"


@pytest.mark.parametrize("line", ["deploy x2", "sim2sim x2", "robot-sim --run x2"])
def test_without_an_export_the_way_to_one_is_told(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cyclonedds")
    assert main(line.split()) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"ssr {line.split()[0]}: x2 ships without ONNX. Run `ssr export x2` first: it writes to out/x2."
    ]


def test_the_export_of_a_name_is_found_by_that_name() -> None:
    pretrained.copied("x2")
    Path("out/x2/contract.json").write_text("{}")
    assert pretrained.exported("x2") == Path("out/x2")
    assert pretrained.exported("out/x2") == Path("out/x2")


def test_comparing_a_name_looks_where_it_was_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "x2"]) == 2
    assert capsys.readouterr().err == "ssr compare: x2 has not been evaluated. First: `ssr eval x2`.\n"

"""What is installed works anywhere: policies by name, extras by name, other systems."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from ssr import machine, pretrained
from ssr.cli.main import main
from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.extras import EXTRAS, missing

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("wheel")
    build = f"import setuptools.build_meta as b; b.build_wheel({str(out)!r})"
    environment = {**os.environ, "PIP_NO_INDEX": "1"}
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, env=environment, check=True, capture_output=True)
    return zipfile.ZipFile(next(out.glob("*.whl")))


def test_the_wheel_holds_the_policy_and_all_data(wheel: zipfile.ZipFile) -> None:
    inside = set(wheel.namelist())
    for name in ("config.json", "small.safetensors"):
        assert wheel.read(f"ssr/policies/x2/{name}") == (ROOT / "pretrained" / "x2" / name).read_bytes()
    data = [p for p in (ROOT / "src").rglob("*") if p.suffix in (".json", ".toml", ".npz", ".py")]
    assert {str(p.relative_to(ROOT / "src")) for p in data} <= inside
    assert sum(item.compress_size for item in wheel.infolist()) < 25e6
    assert not [name for name in inside if "/eval/" in name or "/films/" in name]


def test_a_shipped_policy_is_known_by_name_in_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pretrained.DEFAULT in pretrained.names()
    by_name, by_path = subject.load("x2"), subject.load(str(ROOT / "pretrained" / "x2"))
    assert by_name.digest == by_path.digest and by_name.name == "x2"
    assert subject.home("x2") == Path("out/x2"), "nothing is written where the package lies"
    (tmp_path / "x2").mkdir()
    assert pretrained.located("x2") == Path("x2"), "what is here comes first"
    with pytest.raises(UserError, match=r"x3 does not exist.*a policy that ships: .*x2"):
        subject.load("x3")


def test_extras_bring_what_the_messages_promise() -> None:
    """Every package of the table comes with its extra; none of it is asked for by everyone."""
    optional = PROJECT["optional-dependencies"]
    owners = packages_distributions()
    for extra, packages in EXTRAS.items():
        for package in packages:
            names = {name.lower() for name in owners[package]}
            assert names & {name.lower() for name in optional[extra]}, f"{package} is not in {extra}"
            assert not names & {name.lower() for name in PROJECT["dependencies"]}


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [(["play", "scripted:stand"], "viser", "viewer"), (["motion", "build", "."], "mink", "motion")],
)
def test_a_missing_extra_is_one_line(
    words: list[str],
    package: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in sys.modules if name.startswith(("ssr.viewer", "ssr.motion.solver"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert package in said and f"pip install 'ssr[{extra}]'" in said and "\n" not in said


def test_an_unknown_package_is_not_blamed_on_an_extra() -> None:
    assert missing("numpy") is None and missing(None) is None


def test_other_systems_have_cores_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS knows no affinity and counts memory in bytes."""
    here = machine.peak_memory_megabytes()
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.cores() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.cores() == 1
    monkeypatch.setattr(sys, "platform", "darwin")
    assert machine.peak_memory_megabytes() == pytest.approx(here / 1024, rel=0.5)


def test_linux_only_calls_stay_in_one_place() -> None:
    elsewhere = [
        path.name
        for path in (ROOT / "src" / "ssr").rglob("*.py")
        if path.name != "machine.py"
        and any(word in path.read_text() for word in ("sched_getaffinity", "import resource\n", "/proc/"))
    ]
    assert elsewhere == []

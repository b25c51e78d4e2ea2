"""A shell completes commands, options and files."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ssr.cli.completion import options_of
from ssr.cli.main import COMMANDS, main


@pytest.fixture(scope="module")
def script() -> str:
    import contextlib
    import io

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["completion", "bash"]) == 0
    return said.getvalue()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["fi"], {"film"}),
        (["film", "--tr"], {"--trial"}),
        (["train", "--ablation.no-s"], {"--ablation.no-style", "--ablation.no-symmetry"}),
        (["film", "/et"], {"/etc"}),
    ],
)
def test_bash_completes(script: str, words: list[str], expected: set[str]) -> None:
    typed = " ".join(["ssr", *words])
    ask = f"{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _ssr; echo ${{COMPREPLY[@]}}"
    found = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) == expected


def test_every_command_is_known_to_fish(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    said = capsys.readouterr().out
    assert all(f"-a {name} " in said for name in COMMANDS)


def test_no_flag_denies_twice() -> None:
    assert not [option for option in options_of("train") if "no-no-" in option]

"""On a robot neither training nor simulation is installed: `ssr deploy` must do without their packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ssr

ABSENT = ("torch", "mujoco", "mujoco_warp", "warp", "numba", "scipy", "matplotlib", "onnx", "onnxscript")
ON_BOARD = {"cli", "deployment", "rotation"}  #: folders of the project that may be loaded there
FOLDERS = {path.name for path in Path(ssr.__file__).parent.iterdir() if (path / "__init__.py").is_file()}
DOMAIN = 100 + os.getpid() % 120

ON_A_ROBOT = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
"""
LOADED = "\nprint(*(m for m in sys.modules if m.partition('.')[0] == 'ssr'), file=sys.stderr)"


def on_a_robot(program: str) -> tuple[str, list[str]]:
    """What the program says, and the modules of the project it has loaded."""
    words = [sys.executable, "-c", ON_A_ROBOT + program + LOADED]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *said, modules = done.stderr.splitlines()
    return done.stdout + "\n".join(said), modules.split()


def command(*words: object) -> str:
    """The program that gives `ssr` these words."""
    return (
        "from ssr.cli.main import main\n"
        f"try: print('exit', main({[str(word) for word in words]!r}))\n"
        "except SystemExit: pass  # --help ends so"
    )


def folders(modules: list[str]) -> set[str]:
    return {m.split(".")[1] for m in modules if "." in m} & FOLDERS


def test_the_controller_needs_no_package_of_training_or_simulation() -> None:
    _, modules = on_a_robot("import ssr.deployment.runtime")
    assert "ssr.deployment.controller" in modules and folders(modules) <= ON_BOARD


def test_the_help_of_deploy_needs_none_either() -> None:
    said, modules = on_a_robot(command("deploy", "--help"))
    assert "Run an exported policy on a robot" in said and folders(modules) <= ON_BOARD


def test_a_dry_run_reads_its_policy_and_waits_for_the_robot(run: Path) -> None:
    """Contract, ONNX policy and topics are up; only the robot is not there."""
    words = ("deploy", run, "--no-realtime", "--wait", "0.2", "--network.domain", DOMAIN)
    said, modules = on_a_robot(command(*words))
    for sentence in ("exit 2", "dry run: nothing is sent", "No /joint_states within 0.2 s"):
        assert sentence in said
    assert folders(modules) <= ON_BOARD


def test_who_names_a_robot_has_the_contract_compared_with_it(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ssr.cli.main import main

    assert main(["deploy", str(run), "--robot", "dr02", "--wait", "0.1"]) == 2
    assert "trained for 'x2', not for 'dr02'" in capsys.readouterr().err

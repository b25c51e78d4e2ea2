"""A study and its runs are killed without warning; what comes out is bit for bit what would have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file
from small_plan import PLAN

from ssr.learning.run_directory import METRICS, SMALL, read_metrics
from ssr.study import claims, job
from ssr.study.folder import REPORT, STATUS, StudyFolder
from ssr.study.plan import read

PATIENCE = 900.0  #: s for anything at all
ONE = PLAN.replace('["ssr", "pim"]', '["pim"]').replace("[1, 2]", "[1]").replace("1_920", "6_144")


def waited(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def started(file: Path, out: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "ssr.cli.main", "study", str(file), "--out", str(out)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def iterations(out: Path) -> int:
    return len(read_metrics(out / "pim-1")) if (out / "pim-1" / METRICS).is_file() else 0


def test_kills_of_the_study_and_of_a_run_lose_nothing(tmp_path: Path) -> None:
    plan = read(ONE, "one", tmp_path)
    straight = StudyFolder.make(tmp_path / "straight", plan, ONE, tmp_path)
    assert job.work(straight, plan.runs()[0]) == job.DONE

    file, out = tmp_path / "one.toml", tmp_path / "killed"
    file.write_text(ONE)
    holder: Callable[[], claims.Claim | None] = lambda: claims.newest_claim(out / "claims", "pim-1")
    with started(file, out) as study:
        assert waited(lambda: iterations(out) >= 1)
        study.send_signal(signal.SIGKILL)
    first = holder()
    assert first is not None and waited(lambda: not first.lives(out / "claims")), "its run ends with it"
    before = iterations(out)
    assert 1 <= before < 16
    with started(file, out) as study:
        assert waited(lambda: iterations(out) > before)
        second = holder()
        assert second is not None and second.number > first.number and second.phase == "training"
        os.kill(second.pid, signal.SIGKILL)
        said, _ = study.communicate(timeout=PATIENCE)
    assert study.returncode == 0 and "was ended by signal 9; it goes on" in said
    last = holder()
    assert last is not None and last.number > second.number

    weights = [load_file(folder / "pim-1" / SMALL) for folder in (straight.path, out)]
    assert weights[0].keys() == weights[1].keys()
    assert [name for name in weights[0] if not weights[0][name].equal(weights[1][name])] == []
    assert [m["iteration"] for m in read_metrics(out / "pim-1")] == list(range(1, 17))
    assert "1 of 1 run done" in (out / STATUS).read_text() and (out / REPORT).is_file()
    rows = [(folder / "pim-1" / "eval" / "results.json").read_text() for folder in (straight.path, out)]
    assert rows[0] == rows[1], "what was tried is the same too"


def test_asked_to_stop_it_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    file, out = tmp_path / "one.toml", tmp_path / "study"
    file.write_text(ONE.replace("6_144", "6_144_000").replace("value = 0.0", "value = 600.0"))
    with started(file, out) as study:
        assert waited(lambda: iterations(out) >= 1)
        study.send_signal(signal.SIGINT)
        said, _ = study.communicate(timeout=PATIENCE)
    assert study.returncode == 130 and "The same command goes on" in said
    claim = claims.newest_claim(out / "claims", "pim-1")
    assert claim is not None and claim.released
    assert list((out / "pim-1" / "checkpoints").iterdir()), "saved, long before it was due"

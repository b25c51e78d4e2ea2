"""Processes that share nothing but a directory never do the same run, and take over from who is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ssr.files import write_json
from ssr.study import claims


def as_if(folder: Path, held: claims.Held, age: float = 0.0, **changes: object) -> None:
    """Write a claim anew as another holder's, last touched `age` seconds ago."""
    path = folder / f"{held.claim.run}.{held.claim.number:04d}.json"
    write_json(path, asdict(replace(held.claim, **changes)))
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))


def test_of_many_that_want_a_run_one_gets_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for run in map(str, range(20)):
            got = list(pool.map(lambda slot, run=run: claims.take(tmp_path, run, slot), range(8)))
            assert sum(held is not None for held in got) == 1
    assert claims.take(tmp_path, "0", 9) is None, "its holder, this process, lives"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_run_of_a_process_that_was_killed_is_taken_over_at_once(tmp_path: Path) -> None:
    lines = (
        "import sys, time; from pathlib import Path; from ssr.study import claims",
        "claims.take(Path(sys.argv[1]), 'a', 0); print('held', flush=True); time.sleep(60)",
    )
    with subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines), str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline()
        assert claims.take(tmp_path, "a", 0) is None
        process.kill()
        process.wait()
    held = claims.take(tmp_path, "a", 0)
    assert held is not None and held.claim.number == 2


def test_a_process_of_the_same_number_that_began_later_is_another(tmp_path: Path) -> None:
    held = claims.take(tmp_path, "a", 0)
    assert held is not None
    as_if(tmp_path, held, begun="1")
    assert claims.take(tmp_path, "a", 0) is not None


@pytest.mark.parametrize(("age", "taken"), [(0.0, False), (claims.PATIENCE + 10, True)])
def test_another_machines_claim_holds_as_long_as_it_gives_signs_of_life(
    tmp_path: Path, age: float, taken: bool
) -> None:
    held = claims.take(tmp_path, "a", 0)
    assert held is not None
    as_if(tmp_path, held, age, host="elsewhere")
    assert (claims.take(tmp_path, "a", 0) is not None) == taken


def test_a_holder_that_was_given_up_learns_that_it_was(tmp_path: Path) -> None:
    held = claims.take(tmp_path, "a", 0)
    assert held is not None and held.beat()
    as_if(tmp_path, held, claims.PATIENCE + 10, host="elsewhere")
    assert claims.take(tmp_path, "a", 0) is not None
    assert not held.beat()


def test_what_is_released_may_be_taken_and_a_damaged_claim_grows_old(tmp_path: Path) -> None:
    held = claims.take(tmp_path, "a", 0)
    assert held is not None
    held.release()
    assert claims.take(tmp_path, "a", 0) is not None
    path = tmp_path / "a.0002.json"
    path.write_text("{")
    assert claims.take(tmp_path, "a", 0) is None
    os.utime(path, (1, 1))
    assert claims.take(tmp_path, "a", 0) is not None

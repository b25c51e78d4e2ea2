"""A standing trial: everything the project reads, broken on purpose. `make hostile`

    python scripts/hostile [SEED ...] [inputs] [files] [kills] [robot]    by default seeds 1, 2, 3, all parts

Mutated settings and files must be refused in one line or be harmless; a run killed at any write point must go
on bit for bit (several seeds share the points among them); every fault of the simulated robot must end in
damping, with nothing impossible on the wire.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

import damage
import faults
import inputs
import kills
import material
from tally import Tally

PARTS = {"inputs": inputs.settings, "files": damage.files, "kills": kills.trial, "robot": faults.trial}

Trial = Callable[[material.Material, int], list[Tally]]


def main() -> int:
    words = sys.argv[1:]
    parts = [word for word in words if word in PARTS] or list(PARTS)
    seeds = [int(word) for word in words if word not in PARTS] or [1, 2, 3]
    torch.set_num_threads(1)
    console, tallies = Console(), []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            made = material.make(Path(folder))
            for part in parts:
                begin = time.monotonic()
                trial: Trial = PARTS[part]
                if part == "kills":
                    trial = partial(kills.trial, share=(seeds.index(seed), len(seeds)))
                found = trial(made, seed)
                tallies += [(seed, tally) for tally in found]
                console.print(f"seed {seed}, {part}: {time.monotonic() - begin:.0f} s", highlight=False)
    console.print(table([(seed, t) for seed, t in tallies if not t.times], "tried", "refused", "harmless"))
    console.print(
        table([(seed, t) for seed, t in tallies if t.times], "tried", "damped", "ms, median and most")
    )
    bad = [(seed, tally, line) for seed, tally in tallies for line in tally.bad]
    for seed, tally, line in bad[:40]:
        console.print(f"seed {seed}, {tally.what}: {line}", style="red", highlight=False, soft_wrap=True)
    total = sum(tally.tried for _, tally in tallies)
    console.print(f"{total} tries, {len(bad)} of them bad: tracebacks, wrong acceptances, faults not damped")
    return 1 if bad else 0


def table(rows: list[tuple[int, Tally]], *columns: str) -> Table:
    """The same kind of try of all seeds in one row."""
    shown = Table("what", *columns, "bad")
    whats = list(dict.fromkeys(tally.what for _, tally in rows))
    for what in whats:
        same = [tally for _, tally in rows if tally.what == what]
        times = sorted(t for tally in same for t in tally.times)
        last = f"{times[len(times) // 2]}, {times[-1]}" if times else str(sum(t.harmless for t in same))
        numbers = (sum(t.tried for t in same), sum(t.refused for t in same))
        shown.add_row(what, *map(str, numbers), last, str(sum(len(t.bad) for t in same)))
    return shown


if __name__ == "__main__":
    sys.exit(main())

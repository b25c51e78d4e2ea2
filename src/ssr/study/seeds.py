"""Several runs of one method as one: means over seeds, with intervals that tell what another seed may do.

Made of one run, everything is as that run has it, and its intervals are over trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, isfinite
from typing import Any

import numpy as np

from ssr.evaluation.figures.training import ENDS, reached_top
from ssr.evaluation.intervals import over_seeds
from ssr.evaluation.measures import Row
from ssr.evaluation.results import Results
from ssr.evaluation.trials import Trials

SAME = ("terrain", "setting", "beyond_training", "iteration", "sfr_chance")  #: in every run
ADDED = ("trials", "left_strip", "footholds", "rated", "walk_trials", "walk_seconds")
SHARES = (
    *("success", "traversal", "sfr", "sfr_all", "msr", "lead_right", "double_support", "flight", "style"),
)  #: between 0 and 1
CURVES = ("return/locomotion", "reached_top", "peak_memory_mb")


@dataclass(kw_only=True)
class SeedResults(Results):
    """Results of one method, of as many runs as there are seeds."""

    members: list[Results] = field(default_factory=list)

    @staticmethod
    def of(name: str, members: Sequence[Results]) -> SeedResults:
        first = members[0]
        made = SeedResults(
            name=name,
            folder=first.folder,
            digest=first.digest,
            conditions=first.conditions,
            iteration=first.iteration,
            robot=first.robot,
            run=first.run,
            chunk=first.chunk,
            members=list(members),
        )
        made.rows = [pooled_row(rows) for rows in _alike([m.rows for m in members])]
        made.snapshots = [pooled_row(rows) for rows in _alike([m.snapshots for m in members])]
        found = [m.directions for m in members if m.directions is not None]
        made.directions = pooled_directions(found) if found else None
        return made

    def trials(self, row: Row) -> Trials | None:
        """Of all seeds, one after the other."""
        parts = []
        for member in self.members:
            own = next((r for r in member.rows if _key(r) == _key(row)), None)
            trials = None if own is None else member.trials(own)
            if trials is not None:
                parts.append(trials)
        return Trials.joined(parts) if parts else None

    def metrics(self) -> list[dict[str, Any]]:
        """What training wrote down, iteration by iteration: means, and intervals of several seeds."""
        each = [{m["iteration"]: m | reached_top(m) for m in member.metrics()} for member in self.members]
        shared = [n for n in each[0] if all(n in known for known in each)] if each else []
        return [_mean_metrics([known[number] for known in each]) for number in shared]


def pooled_row(rows: Sequence[Row]) -> Row:
    """One row of means over seeds."""
    if len(rows) == 1:
        return rows[0]
    row: Row = {name: rows[0][name] for name in SAME if name in rows[0]}
    row |= {name: sum(r[name] or 0 for r in rows) for name in ADDED}
    for name in rows[0]:
        if f"{name}_low" not in rows[0]:
            continue
        known = [r for r in rows if r[name] is not None]
        if len(known) == 1:  # the only one that got so far; its own interval
            row |= {f"{name}{end}": known[0][f"{name}{end}"] for end in ("", *ENDS)}
            continue
        found = over_seeds([r[name] for r in known], (0.0, 1.0) if name in SHARES else (-inf, inf))
        for end, value in zip(("", *ENDS), (found.value, found.low, found.high), strict=True):
            row[f"{name}{end}"] = _number(value)
    return row


def pooled_directions(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All paths; of each seed's own measures the means: seeds that lean to either side do not cancel."""
    mean = lambda name: np.mean([f[name] for f in found], axis=0).tolist()
    turned = [
        None if shares[0] is None else float(np.mean(shares))
        for shares in zip(*(f["turned_share"] for f in found), strict=True)
    ]
    together: Callable[[str], list] = lambda name: [
        list(chain(*rows)) for rows in zip(*(f[name] for f in found), strict=True)
    ]
    return {
        "commands": found[0]["commands"],
        "seconds": found[0]["seconds"],
        "paths": together("paths"),
        "lasted": together("lasted"),
        "turned_share": turned,
        **{name: mean(name) for name in ("end_error", "falls", "asymmetry")},
    }


def _mean_metrics(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    made = {name: float(np.mean([r[name] for r in rows])) for name in ("iteration", "wall_seconds")}
    for name in CURVES:
        values = [r[name] for r in rows if name in r]
        if len(values) < len(rows):
            continue
        found = over_seeds(values)
        made[name] = found.value
        if len(rows) > 1:
            made |= {f"{name}_low": found.low, f"{name}_high": found.high}
    return made


def _alike(tables: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """Rows of the same course and iteration, in the order of the first table."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for table in tables:
        for row in table:
            found.setdefault(_key(row), []).append(row)
    return list(found.values())


def _key(row: Row) -> tuple[Any, ...]:
    return row["terrain"], row["setting"], row.get("iteration")


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None

"""One rule of all reward rows: a call per row would cost a small batch as much as its physics."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from ssr.kept import digest
from ssr.per_world import Rule
from ssr.task import rewards
from ssr.task.moment import Moment
from ssr.task.rewards import ROWS, Limits, Parameters

SOURCE = """
def {rule}(m, limits, c, weights, out, total, i, k):
{rows}
    total[i] = 0.0
    for row in range(weights.shape[0]):
        out[row, i] = out[row, i] * weights[row]
        total[i] = total[i] + out[row, i]
"""


@cache
def rule_of(names: tuple[str, ...]) -> Rule:
    """rule(worlds, moment, limits, parameters, weights, out, total) of these rows.

    It writes every row of every world times its weight (rows,) into out (rows, n) and their sum into total
    (n,).
    """
    scope: dict[str, Any] = {name: ROWS[name] for name in names} | {"__name__": rewards.__name__}
    name = f"all_rows_{_digest(names)}"
    rows = "\n".join(f"    out[{k}, i] = {row}(m, limits, c, i)" for k, row in enumerate(names))
    source = SOURCE.format(rule=name, rows=rows)
    # As if it stood in rewards.py: a change of that file is a change of the kernel, for Numba's cache.
    exec(compile(source, rewards.__file__, "exec"), scope)
    return Rule(scope[name], (Moment, Limits, Parameters), source)


def _digest(names: tuple[str, ...]) -> str:
    """Of what the rule is made of: each set of rows has its own entry in the cache."""
    texts = [inspect.getsource(ROWS[name]) for name in names]
    return digest(texts, Moment._fields)

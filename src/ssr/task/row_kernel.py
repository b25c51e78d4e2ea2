"""One kernel of all reward rows: a call per row would cost a small batch as much as its physics."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any

from numba import njit

from ssr.task import rewards
from ssr.task.moment import Moment
from ssr.task.rewards import ROWS, Limits, Parameters

KERNEL = """
def {kernel}(moment, limits, parameters, weights, out, total):
    m, r, c = Moment(*moment), Limits(*limits), Parameters(*parameters)
    for i in range(out.shape[1]):
{rows}
        total[i] = 0.0
        for row in range(len(weights)):
            out[row, i] *= weights[row]
            total[i] += out[row, i]
"""


@cache
def kernel_of(names: tuple[str, ...]) -> Callable[..., None]:
    """run(moment, limits, parameters, weights, out, total) of these rows; the records as plain tuples.

    It writes every row of every world times its weight (rows,) into out (rows, n) and their sum into total
    (n,).
    """
    scope: dict[str, Any] = {name: ROWS[name] for name in names}
    scope |= {record.__name__: record for record in (Moment, Limits, Parameters)}
    scope["__name__"] = rewards.__name__
    kernel = f"all_rows_{_digest(names)}"
    rows = "\n".join(f"        out[{k}, i] = {name}(m, r, c, i)" for k, name in enumerate(names))
    # As if it stood in rewards.py: a change of that file is a change of the kernel, for Numba's cache.
    exec(compile(KERNEL.format(kernel=kernel, rows=rows), rewards.__file__, "exec"), scope)
    return njit(cache=True, nogil=True, error_model="numpy")(scope[kernel])


def _digest(names: tuple[str, ...]) -> str:
    """Of what the kernel is made of: each set of rows has its own entry in the cache."""
    texts = [inspect.getsource(ROWS[name]) for name in names]
    return sha256(repr((texts, Moment._fields)).encode()).hexdigest()[:12]

"""Rules for one world, written once and compiled twice: Numba runs them over the host's arrays, Warp over a
device's tensors.

A rule takes records – named tuples of arrays whose first dimension is the world, and of numbers – or single
arrays and numbers, and last i and k: the number of its world, and which of the worlds asked about that is.

    @per_world(Reading, FootClocks)
    def update(now, clocks, i, k):
        clocks.contact[i] = now.force[i] > CONTACT_FORCE

    update(worlds, reading, clocks)

`worlds`: numbers (m,) of worlds as an array, if the rest is arrays of the host; a mask (n,) bool as a tensor,
if the rest is tensors of its device. On the host k runs from 0 to m - 1, on a device it is i.

What both compilers take: one type per variable, so `total = float(0.0)` before a loop adds to it; whole
numbers of tensors are int32, or read through `int`; array entries are taken and put one by one, never as a
tuple; no `**`, no chained comparison, no sum of truths, no `+=` on an entry; no field with the name of a C++
keyword. A rule returns nothing; a function that it calls is `compiled` and returns numbers.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from ssr.kept import digest, ingredients

# No counting of who holds an array: in each call, all those of all records would be counted up and down,
# which takes longer than most rules. Who calls a rule holds them; nothing that is compiled gives one back.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

# Not cached, since a cache that knows a named tuple breaks when that is renamed: kernels have them inside.
compiled = njit(**_OPTIONS)

#: The rule's text stands in the loop: to call it for each world would pass on hundreds of words each time.
KERNEL = """
def {kernel}(worlds, {names}):
    {opened}
    for {k} in range(len(worlds)):
        {i} = worlds[{k}]
{body}
"""


@compiled
def single(x):
    """Rounded to single precision, which is all that a device has."""
    return np.float32(x)


@compiled
def square(x):
    return x * x


class Rule:
    """What becomes of a world; called with the worlds that it is to happen to."""

    def __init__(
        self, function: Callable[..., None], records: tuple[type | None, ...], source: str | None = None
    ) -> None:
        """records: of its first arguments; None for one that is a single array or a number. source: of a
        function that stands in no file."""
        self.function, self.name, self._source = function, function.__name__, source
        *names, self._world, self._place = inspect.signature(function).parameters
        self.names = tuple(names)
        self.records = (*records, *(None,) * (len(self.names) - len(records)))
        self._opened = [k for k, record in enumerate(self.records) if record is not None]
        self._over_tensors: Any = None

    @cached_property
    def source(self) -> str:
        return source_of(self.function) if self._source is None else self._source

    def __call__(self, worlds: Any, *arguments: Any) -> None:
        if isinstance(worlds, np.ndarray):
            # Plain tuples: a cache that knows a named tuple breaks when that is renamed.
            plain = list(arguments)
            for k in self._opened:
                plain[k] = tuple(plain[k])
            self._over_arrays(worlds, *plain)
            return
        if self._over_tensors is None:
            from ssr.per_world_warp import OverTensors  # importing Warp takes longer than all the rest

            self._over_tensors = OverTensors(self)
        self._over_tensors(worlds, arguments)

    @cached_property
    def _over_arrays(self) -> Callable[..., None]:
        rows = [f"{self.names[k]} = record_{k}(*{self.names[k]})" for k in self._opened]
        fields = [(record, getattr(record, "_fields", ())) for record in self.records]
        kernel = f"{self.name}_{digest(KERNEL, _OPTIONS, self.source, *ingredients(self.function), fields)}"
        text = KERNEL.format(
            kernel=kernel, names=", ".join(self.names), opened="; ".join(rows) or "pass",
            i=self._world, k=self._place, body=textwrap.indent(_body(self.source), 8 * " "),
        )  # fmt: skip
        scope = self.function.__globals__ | {f"record_{k}": self.records[k] for k in self._opened}
        # As if it stood in the rule's file: that is where Numba's cache looks.
        exec(compile(text, self.function.__code__.co_filename, "exec"), scope)
        return njit(cache=True, **_OPTIONS)(scope[kernel])


def source_of(function: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(function))


def _body(source: str) -> str:
    """What a function does, as text."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert not any(isinstance(node, ast.Return) for node in ast.walk(function)), "a rule returns nothing"
    return "\n".join(map(ast.unparse, function.body))


def named_in(source: str) -> set[str]:
    """Names that stand for themselves there, and not for a part of something."""
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def per_world(*records: type | None) -> Callable[[Callable[..., None]], Rule]:
    """Make a function a `Rule`; records: of its first arguments, None for single arrays and numbers."""
    return lambda function: Rule(function, records)

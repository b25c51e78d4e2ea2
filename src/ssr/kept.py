"""Kernels that Numba keeps on the disk, under names that change with whatever is compiled into them.

Numba looks whether a kernel's own file has changed. Functions and constants of other files are compiled into
it too, and so is the order of a record's fields: without a new name old machine code would go on with those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function, and keep what comes of it. options: of Numba."""

    def make(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{digest(*ingredients(function))}"  # of which Numba makes the file's name
        return njit(cache=True, nogil=True, **options)(function)

    return make


def digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:12]


def ingredients(function: Any) -> Iterator[object]:
    """What a function is compiled from: its code, and whatever it names in turn."""
    code = function.__code__
    yield (
        code.co_code,
        code.co_names,
        code.co_varnames,
        [c for c in code.co_consts if not hasattr(c, "co_code")],
    )
    for name in sorted({*code.co_names}):
        value = function.__globals__.get(name)
        if isinstance(value, Dispatcher) and value.py_func is not function:
            yield from ingredients(value.py_func)
        elif isinstance(value, np.ndarray):
            yield name, value.dtype, value.shape, value.tobytes()
        elif isinstance(value, bool | int | float | str | tuple | np.generic):
            yield name, value
        elif hasattr(value, "_fields"):  # a record
            yield value, value._fields

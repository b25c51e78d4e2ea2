"""Rules over a device's tensors, one thread a world; see `ssr.per_world`."""

from __future__ import annotations

import inspect
import math
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import torch
import warp as wp
from numba.core.dispatcher import Dispatcher
from torch import Tensor

from ssr import bridge
from ssr.kept import digest
from ssr.per_world import Rule, named_in, single, source_of

SCALARS = {
    torch.float32: wp.float32,
    torch.int32: wp.int32,
    torch.int64: wp.int64,
    torch.bool: wp.bool,
}
KERNEL = """
def {kernel}(chosen, {names}):
    i = wp.tid()
    if chosen[i]:
        rule({names}, i, i)
"""


@wp.func
def hypot(x: float, y: float):
    return wp.sqrt(x * x + y * y)


#: What stands for a function that rules call, where Warp cannot compile it or has its own.
INSTEAD: dict[Any, Any] = {single: wp.float32, math.hypot: hypot}


class OverTensors:
    """A rule's kernels, one for each combination of types it was called with."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._kernels: dict[Any, tuple[Any, list[Any]]] = {}
        self._last: list[tuple[Any, Any]] = [(None, None)] * len(rule.names)

    def __call__(self, chosen: Tensor, arguments: tuple[Any, ...]) -> None:
        """chosen (n,) bool."""
        types = tuple(_type_of(value) for value in arguments)
        if types not in self._kernels:
            self._kernels[types] = self._compiled(types)
        kernel, structs = self._kernels[types]
        given = [self._given(k, value, structs[k]) for k, value in enumerate(arguments)]
        bridge.launch(kernel, (len(chosen),), [bridge.array(chosen), *given], [], chosen.device)

    def _given(self, place: int, value: Any, struct: Any) -> Any:
        """As Warp takes it. Records that stay are packed once: that takes longer than launching."""
        if not isinstance(value, tuple):
            return bridge.array(value) if isinstance(value, Tensor) else value
        known, packed = self._last[place]
        if known is not value:
            packed = struct()
            for name, part in value._asdict().items():  # type: ignore[attr-defined]
                setattr(packed, name, bridge.array(part) if isinstance(part, Tensor) else part)
            self._last[place] = (value, packed)
        return packed

    def _compiled(self, types: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        rule = self.rule
        name = f"{rule.name}_{digest(rule.source, types)}"
        module = wp.get_module(f"{rule.function.__module__}.{name}")
        hints = [_struct(t) if isinstance(t, _Fields) else _hint(t) for t in types]
        by_name = dict(zip(rule.names, hints, strict=True))
        places = dict.fromkeys(tuple(inspect.signature(rule.function).parameters)[-2:], wp.int32)
        body = _function(rule.function, rule.source, by_name | places, module)
        text = KERNEL.format(kernel=name, names=", ".join(rule.names))
        scope: dict[str, Any] = {"wp": wp, "rule": body, "__name__": module.name}
        exec(text, scope)
        kernel = scope[name]
        kernel.__annotations__ = {"chosen": wp.array(dtype=wp.bool), **by_name}
        options = {"enable_backward": False}
        return wp.Kernel(func=kernel, key=name, module=module, options=options, source=text), hints


class _Fields(tuple):
    """The types of a record's fields: its name, then pairs of name and type."""


def _type_of(value: Any) -> Any:
    """A torch dtype with the number of dimensions; bool, int or float; or `_Fields`."""
    if isinstance(value, Tensor):
        return value.dtype, value.ndim
    if isinstance(value, tuple):
        parts = value._asdict().items()  # type: ignore[attr-defined]
        return _Fields((type(value).__name__, *((name, _type_of(part)) for name, part in parts)))
    if isinstance(value, (bool, np.bool_)):
        return bool
    return int if isinstance(value, (int, np.integer)) else float


def _hint(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return wp.array(dtype=SCALARS[kind[0]], ndim=kind[1])
    return {bool: wp.bool, int: wp.int32, float: wp.float32}[kind]


@cache
def _struct(fields: _Fields) -> Any:
    name, *parts = fields
    unique = f"{name}_{digest(fields)}"
    hints = {part: _hint(kind) for part, kind in parts}
    return wp.struct(type(unique, (), {"__annotations__": hints, "__module__": __name__}))


def _function(function: Any, source: str, hints: dict[str, Any], module: Any) -> Any:
    """A Python function as one of Warp's, with what it calls."""
    known = function.__globals__
    scope = {name: _standing_for(known[name]) for name in sorted(named_in(source) & known.keys())}
    copy = FunctionType(function.__code__, {**known, **scope}, function.__name__)
    copy.__annotations__, copy.__module__ = hints, module.name
    return wp.Function(
        func=copy, key=function.__name__, namespace="", module=module, value_func=None, source=source
    )


def _standing_for(value: Any) -> Any:
    try:
        if value in INSTEAD:
            return INSTEAD[value]
    except TypeError:  # not hashable, so no function
        return value
    return twin(value) if isinstance(value, Dispatcher) else value


@cache
def twin(dispatcher: Any) -> Any:
    """A `compiled` function for Warp, of whatever types it is called with."""
    function = dispatcher.py_func
    hints = dict.fromkeys(inspect.signature(function).parameters, Any)
    return _function(function, source_of(function), hints, wp.get_module(f"{function.__module__}.rules"))

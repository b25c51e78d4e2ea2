"""What Numba keeps on the disk is forgotten when anything that went into it has changed, in whatever file."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PARTS = """
from typing import Any, NamedTuple

from ssr.per_world import compiled

FACTOR = 2.0


class Pair(NamedTuple):
    first: Any
    second: Any


@compiled
def twisted(x):
    return x + 1.0
"""
WHOLE = """
from parts_of_kernels import FACTOR, Pair, twisted

from ssr.kept import kept
from ssr.per_world import per_world


@per_world(Pair)
def rule(pair, out, i, k):
    out[i] = twisted(pair.first[i]) * FACTOR


@kept()
def kernel(pair):
    return twisted(Pair(*pair).first[0]) * FACTOR
"""
CHANGES = {
    "nothing": ("", "", 4.0),
    "a constant": ("FACTOR = 2.0", "FACTOR = 3.0", 6.0),
    "a function": ("x + 1.0", "x + 2.0", 6.0),
    "the order of fields": (
        "first: Any\n    second: Any",
        "second: Any\n    first: Any",
        (10.0 + 1.0) * 2.0,
    ),
}


def computed(folder: Path) -> tuple[float, float, set[str]]:
    """By rule and by kernel, as a new process would; and what is kept then."""
    for name in ("parts_of_kernels", "whole_kernels"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    whole: Any = importlib.import_module("whole_kernels")
    pair, out = whole.Pair(np.array([1.0]), np.array([10.0])), np.zeros(1)
    whole.rule(np.array([0]), pair, out)
    kernel = whole.kernel(tuple(pair))
    return out[0], kernel, {path.name for path in folder.rglob("*.nbi")}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_another_file_is_seen(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, expected = CHANGES[change]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "parts_of_kernels.py").write_text(PARTS)
    (tmp_path / "whole_kernels.py").write_text(WHOLE)
    rule, kernel, files = computed(tmp_path)
    assert rule == kernel == 4.0 and len(files) == 2
    (tmp_path / "parts_of_kernels.py").write_text(PARTS.replace(old, new))
    rule, kernel, now = computed(tmp_path)
    assert rule == kernel == expected
    assert (now == files) == (change == "nothing"), "what has not changed is not compiled again"

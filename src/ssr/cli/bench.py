"""`ssr bench`: measure one part of the system. Each benchmark is a module with its own `run` and options."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from ssr.cli import arguments
from ssr.errors import unknown

BENCHMARKS: dict[str, str] = {
    "env": "control steps per second of the environment",
    "depth": "depth frames per second of the renderers",
    "networks": "the equivariant encoder against a plain one of the same widths",
    "eval": "control steps per second of evaluation, and the cost of 1,000 trials",
    "deploy": "inference, camera filters, and controller and robot together for a while",
    "train": "steps per second of training, from raw physics to the whole loop",
    "gpu": "a CUDA card: parity with the CPU, rates, waits, memory; --json is a line to send us",
}


def usage() -> str:
    width = max(map(len, BENCHMARKS))
    lines = "\n".join(f"  {name:<{width}}  {text}" for name, text in BENCHMARKS.items())
    return (
        "usage: ssr bench WHAT [--json] [options]\n\n"
        f"what:\n{lines}\n\n"
        "With --json the last line of the output is one JSON object. `ssr bench WHAT --help`: its options."
    )


def run(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = argv
    if name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    benchmark = importlib.import_module(f"ssr.benchmarks.{name}").run
    as_json = "--json" in rest
    options = [argument for argument in rest if argument != "--json"]

    @wraps(benchmark)  # which is called only when its words have been read
    def later(**given: Any) -> Callable[[], dict[str, Any]]:
        return partial(benchmark, **given)

    figures = arguments.parsed(later, options, prog=f"ssr bench {name}")()
    print(json.dumps(figures) if as_json else table(figures))
    return 0


def table(figures: dict[str, Any]) -> str:
    width = max(map(len, figures))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in figures.items())

"""Mutated settings and files."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import partial
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
from material import Material
from tally import Tally

from ssr.cli import arguments
from ssr.cli.deploy import DeployOptions
from ssr.cli.train import Command
from ssr.evaluation.conditions import Conditions
from ssr.learning import presets
from ssr.rehearsal.config import RobotProcessConfig, TrialConfig

NUMBERS = (nan, inf, -inf, -1, 0, -1e9, 1e9, 1e308, 2**70, 99_999_999_999, 1.5, -0.0, 1e-320)
OTHERS = (None, "", "nan", "x" * 5000, "\x00", True, [], (), {}, (1.0,), (2.0, 1.0), (nan, nan), [1, 2], b"x")
TOKENS = ("nan", "inf", "-inf", "-1", "0", "1e999", "null", "true", "[]", "{}", '""', "99999999999999999999")
SETTINGS = 700  #: tries per seed


def settings(made: Material, seed: int) -> list[Tally]:
    rng = np.random.default_rng(seed)
    return [_values(rng), _words(rng)]


def _values(rng: np.random.Generator) -> Tally:
    """Any value for any setting, as JSON, TOML and code hand them over."""
    tally = Tally("settings")
    wholes = (
        presets.preset("cpu"),
        DeployOptions(run=Path("x")),
        RobotProcessConfig(),
        TrialConfig(),
        Conditions(),
    )
    everything = [(whole, path) for whole in wholes for path in _paths(whole)]
    for _ in range(SETTINGS):
        whole, path = everything[rng.integers(len(everything))]
        pool = NUMBERS if rng.random() < 0.6 else OTHERS
        value = pool[rng.integers(len(pool))]
        change = lambda w=whole, p=path, v=value: presets.get(presets.with_setting(w, p, v), p)
        tally.attempt(f"{type(whole).__name__} {path} = {value!r:.60}", change, _sound)
    return tally


def _paths(config: Any, before: str = "") -> list[str]:
    found = []
    for each in fields(config):
        value = getattr(config, each.name)
        found += _paths(value, f"{before}{each.name}.") if is_dataclass(value) else [before + each.name]
    return found


def _sound(value: Any) -> bool:
    """No number that is not finite got in; infinity only where a setting means it."""
    numbers = [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, float)]
    return all(isfinite(v) or v == inf for v in numbers)


def _words(rng: np.random.Generator) -> Tally:
    """The same on the command line, one line for whatever is wrong."""
    tally = Tally("command lines")
    train = {"default": Command(config=presets.preset("cpu"))}
    kinds = [(Command, ["train"], train), (DeployOptions, ["deploy", "x"], {})]
    for _ in range(SETTINGS // 7):
        kind, (name, *needed), more = kinds[rng.integers(len(kinds))]
        known = list(arguments.options(kind))
        option = known[rng.integers(len(known))]
        option = option if rng.random() < 0.9 else f"{option[:-1]}{'_=.-x'[rng.integers(5)]}"
        word = TOKENS[rng.integers(len(TOKENS))] if rng.random() < 0.8 else "\x1b[2J' \"--"
        given = [[option, word], [option], [f"{option}={word}"], [option, word, word]]
        argv = [*needed, *given[rng.integers(len(given)) if rng.random() < 0.4 else 0]]
        read = partial(arguments.parsed, kind, argv, prog=f"ssr {name}", **more)
        tally.attempt(
            f"{name} {argv}", read, lambda made: all(_sound(presets.get(made, p)) for p in _paths(made))
        )
    return tally

"""Recipes: a whole training as a checked-in file of stages, from nothing to the weights that ship.

    preset = "cpu"
    seed = 1

    [[stage]]
    name = "walk"
    about = "flat ground and slopes, until it walks like the recorded people"
    until = ["style_reward/slope >= 0.5", "cadence/slope <= 2.6"]
    held = 50
    steps = 8_000_000

    [[stage.differences]]
    setting = "task.terrain.kinds"
    value = ["flat", "slope"]
    reason = "a gait is learned where nothing forces it"

A stage begins with the weights of the one before it, or of the one its `from` names ("nothing": new ones),
and ends when every condition of `until` has held for `held` iterations, or after `steps` control steps.
Compared are exponential means: each iteration counts 1 ÷ `smoothing`, and the first `smoothing` do not yet
decide. Iterations in which one of the metrics was not measured are passed over.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Any

from ssr.errors import UserError, unknown
from ssr.learning import presets, registry
from ssr.learning.config import TrainConfig
from ssr.learning.metric_names import require_metric
from ssr.learning.presets import Difference, get, with_setting
from ssr.ranges import OutOfRange, Seed, Within, settings
from ssr.toml_table import TomlTable

NOTHING = "nothing"  #: what a stage starts from that has new weights
SUFFIX = ".toml"
SHIPPED = files("ssr.learning") / "recipes"

#: Settings that, beside the algorithm, decide what networks there are, and their inputs and outputs.
SHAPES = ("robot", "network", "task.history", "ablation")

NOT_OF_A_STAGE = {
    "run.iterations": "A stage's limit is its `steps`.",
    "preset": "It stands once, at the top.",
}

_CONDITION = re.compile(r"\s*(\S+)\s*(>=|<=)\s*(\S+)\s*")


@settings("condition")
class Condition:
    """A bound on one key of metrics.jsonl: `style_reward/slope >= 0.5`."""

    metric: str
    low: Annotated[float, Within(-inf, inf)] = -inf
    high: Annotated[float, Within(-inf, inf)] = inf

    @staticmethod
    def read(text: str, config: TrainConfig, frozen: Collection[str], where: str) -> Condition:
        """config, frozen: of the stage, which must measure it."""
        match = _CONDITION.fullmatch(text)
        try:
            metric, sign, bound = match.groups() if match else ("", "", "")
            value = float(bound)
        except ValueError:
            value = inf
        if not isfinite(value):
            raise UserError(f"{where}: {text!r} is no condition. Expected e.g. 'tracking >= 0.8'.")
        require_metric(metric, config, frozen, where)
        return Condition(metric=metric, low=value) if sign == ">=" else Condition(metric=metric, high=value)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.metric} " + (f">= {self.low:g}" if isfinite(self.low) else f"<= {self.high:g}")


@settings("stage")
class Stage:
    name: str
    about: str
    start: str  #: the stage whose weights it begins with, or NOTHING
    steps: Annotated[int, Within(1, 1_000_000_000_000)]  #: control steps at most
    until: tuple[Condition, ...] = ()
    held: Annotated[int, Within(1, 1_000_000)] = 20  #: iterations for which every condition must hold
    smoothing: Annotated[int, Within(1, 1_000_000)] = 20
    """Iterations over which metrics are averaged before they are compared, exponentially."""
    frozen: tuple[str, ...] = ()  #: networks that do not learn
    fresh_moments: bool = False  #: optimizers forget, besides new weights' having nothing to remember
    differences: tuple[Difference, ...] = ()  #: from the preset, those of the whole recipe first
    config: TrainConfig  #: all settings

    @property
    def digest(self) -> str:
        """Of everything that decides what the stage does; its explanations do not.

        Of the settings only those that are not the defaults: others may come and go with the code.
        """
        until = [(c.metric, c.low, c.high) for c in self.until]
        decisive = (self.start, self.steps, until, self.held, self.smoothing, self.frozen)
        text = repr((*decisive, self.fresh_moments, sorted(changed_settings(self.config, TrainConfig()))))
        return hashlib.sha256(text.encode()).hexdigest()


@settings("recipe")
class Recipe:
    name: str
    about: str
    seed: Seed
    stages: tuple[Stage, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256("".join(s.name + s.digest for s in self.stages).encode()).hexdigest()

    def position(self, name: str) -> int:
        names = [stage.name for stage in self.stages]
        if name not in names:
            raise unknown(f"stage of recipe {self.name}", name, names)
        return names.index(name)


class Watch:
    """Whether a stage's conditions have held long enough; told every iteration's metrics."""

    def __init__(self, stage: Stage, begun: int = 0) -> None:
        """begun: the iteration after which the stage began; earlier ones do not count."""
        self.stage, self.begun = stage, begun
        self.means: dict[str, float] = {}  #: exponential
        self.samples = 0  #: iterations in which all of its metrics were measured
        self.count = 0  #: of these, the newest in a row in which all conditions held

    def see(self, metrics: Mapping[str, float]) -> str | None:
        """Why the stage ends now, if it does."""
        stage = self.stage
        measured = all(c.metric in metrics for c in stage.until)
        if metrics["iteration"] <= self.begun or not stage.until or not measured:
            return None
        self.samples += 1
        for name in {c.metric for c in stage.until}:
            share = 1.0 / stage.smoothing
            self.means[name] = (1 - share) * self.means.get(name, metrics[name]) + share * metrics[name]
        held = self.samples >= stage.smoothing and all(c.holds(self.means[c.metric]) for c in stage.until)
        self.count = self.count + 1 if held else 0
        if self.count < stage.held:
            return None
        return f"{self._values()} ({' and '.join(map(str, stage.until))} held for {stage.held} iterations)"

    def ran_out(self) -> str:
        """Why the stage ended if its conditions did not end it."""
        steps, until = f"its {self.stage.steps:,} steps are done", self.stage.until
        if not until:
            return steps
        return f"{steps}; {' and '.join(map(str, until))} had not held for long enough: {self._values()}"

    def _values(self) -> str:
        if not self.means:
            return "never measured"
        return ", ".join(f"{name} {value:.3g}" for name, value in sorted(self.means.items()))


def shipped() -> list[str]:
    """Names of the recipes that come with the package."""
    return sorted(f.name.removesuffix(SUFFIX) for f in SHIPPED.iterdir() if f.name.endswith(SUFFIX))


def text_of(name: str) -> str:
    """The text of a shipped recipe by its name, or of any TOML file by its path."""
    path = Path(name)
    if path.suffix == SUFFIX:
        if not path.is_file():
            raise UserError(f"Recipe {name} does not exist. Shipped ones: {', '.join(shipped())}.")
        return path.read_text(errors="replace")
    if name not in shipped():
        raise unknown("recipe", name, shipped())
    return (SHIPPED / f"{name}{SUFFIX}").read_text()


def read(text: str, name: str, seed: int | None = None) -> Recipe:
    """The recipe that a TOML text describes; a mistake anywhere in it is an error before anything starts.

    seed: of all stages, instead of the recipe's own.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"Recipe {name} is not valid TOML: {error}.") from error
    top = TomlTable(content, f"Recipe {name}")
    base = presets.preset(top.take("preset", str))
    given = top.take("seed", int, base.seed)
    base = replace(base, seed=given if seed is None else seed)
    about = top.take("about", str, "")
    common = differences_of(top)
    stages: list[Stage] = []
    for entry in top.take("stage", list):
        stages.append(_stage(TomlTable(entry, f"Recipe {name}, stage"), base, common, stages))
    top.require_empty()
    if not stages:
        raise UserError(f"Recipe {name} has no stages. Give at least one [[stage]].")
    return Recipe(name=name, about=about, seed=base.seed, stages=tuple(stages))


def _stage(
    table: TomlTable,
    base: TrainConfig,
    common: tuple[Difference, ...],
    before: Sequence[Stage],
) -> Stage:
    name = table.take("name", str)
    known = [stage.name for stage in before]
    table.where += f" {name}"
    if name in known or name == NOTHING or not re.fullmatch(r"[a-z0-9-]+", name):
        raise UserError(f"{table.where}: a stage's name is new, in small letters, digits and hyphens.")
    start = table.take("from", str, known[-1] if known else NOTHING)
    if start not in (*known, NOTHING):
        raise unknown(f"start of {table.where}", start, [*known, NOTHING])
    differences = (*common, *differences_of(table))
    config = base
    for difference in differences:
        config = _changed(config, difference.setting, difference.value, table.where)
    if start != NOTHING:
        _require_same_networks(config, before[known.index(start)], table.where)
    frozen = tuple(table.take("frozen", list, []))
    known_networks = registry.method(config.algorithm).NETWORKS
    for network in frozen:
        if network not in known_networks:
            raise unknown(f"network in `frozen` of {table.where}", network, known_networks)
    conditions = table.take("until", list, [])
    until = tuple(Condition.read(str(text), config, frozen, table.where) for text in conditions)
    stage = Stage(
        name=name,
        about=table.take("about", str, ""),
        start=start,
        steps=table.count("steps"),
        until=until,
        held=table.count("held", 20),
        smoothing=table.count("smoothing", 20),
        frozen=frozen,
        fresh_moments=table.take("fresh_moments", bool, False),
        differences=differences,
        config=config,
    )
    table.require_empty()
    return stage


def differences_of(table: TomlTable) -> tuple[Difference, ...]:
    """The entries of its `differences`."""
    found = []
    for entry in table.take("differences", list, []):
        row = TomlTable(entry, f"{table.where}, difference")
        setting = row.take("setting", str)
        row.where += f" {setting}"
        found.append(Difference(setting, row.take("value", object), row.take("reason", str)))
        row.require_empty()
    return tuple(found)


def _changed(config: TrainConfig, setting: str, value: Any, where: str) -> TrainConfig:
    if setting in NOT_OF_A_STAGE:
        raise UserError(f"{where}: {setting} is no difference. {NOT_OF_A_STAGE[setting]}")
    try:
        return with_setting(config, setting, as_declared(TrainConfig, setting, value, where))
    except AttributeError:
        raise UserError(f"{where}: unknown setting {setting!r}. `ssr train --help` lists them all.") from None
    except OutOfRange as error:
        raise UserError(f"{where}: {error}") from None


def as_declared(kind: Any, setting: str, value: Any, where: str) -> Any:
    """`value` as the type its dotted setting declares: TOML has lists where settings are tuples."""
    declared: Any = kind
    for name in setting.split("."):
        if not is_dataclass(declared) or name not in {f.name for f in fields(declared)}:
            raise AttributeError(setting)
        declared = typing.get_type_hints(declared)[name]
    try:
        return _as(declared, value)
    except TypeError:
        expected = declared.__name__ if typing.get_origin(declared) is None else str(declared)
        raise UserError(f"{where}: {setting} is {value!r}, expected {expected}.") from None


def _as(declared: Any, value: Any) -> Any:
    """`value` as the declared type; TypeError where it is not one."""
    if typing.get_origin(declared) is tuple:
        kinds = typing.get_args(declared)
        if isinstance(value, list) and kinds[-1] is ...:
            kinds = (kinds[0],) * len(value)
        if not isinstance(value, list) or len(kinds) != len(value):
            raise TypeError
        return tuple(map(_as, kinds, value))
    if declared is float and type(value) is int:
        return float(value)
    if type(value) is not declared:
        raise TypeError
    return value


def changed_settings(config: Any, default: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Dotted name and value of every setting that is not `default`'s."""
    for each in fields(config):
        value, usual = getattr(config, each.name), getattr(default, each.name)
        if is_dataclass(value):
            yield from changed_settings(value, usual, f"{before}{each.name}.")
        elif value != usual:
            yield f"{before}{each.name}", repr(value)


def _require_same_networks(config: TrainConfig, start: Stage, where: str) -> None:
    different = [part for part in SHAPES if get(config, part) != get(start.config, part)]
    if registry.method(config.algorithm) is not registry.method(start.config.algorithm):
        different.insert(0, "algorithm")
    for part in different[:1]:
        raise UserError(f"{where}: {part} is not that of {start.name}, whose weights it starts from.")

"""Every number that a person or a file can set has a declared range, and nothing else gets in."""

from __future__ import annotations

import importlib
import pkgutil
import typing
from dataclasses import fields, is_dataclass, replace
from math import inf, nan
from typing import Annotated, Literal

import pytest

import ssr
from ssr.deployment.config import ControllerConfig, DdsConfig, DeployConfig, SafetyConfig, StandConfig
from ssr.errors import UserError
from ssr.learning import presets
from ssr.learning.config import TrainConfig
from ssr.ranges import OutOfRange, Share, Within, checked, settings, without_range

#: Besides `config.py` and the commands, whose dataclasses are all settings: what files are read into.
READ_FROM_FILES = (
    "ssr.deployment.contract",
    "ssr.robots.spec",
    "ssr.robots.description",
    "ssr.learning.recipe",
    "ssr.study.plan",
)


def modules() -> list[str]:
    return [m.name for m in pkgutil.walk_packages(ssr.__path__, "ssr.") if not m.name.endswith("__main__")]


def dataclasses_of(name: str) -> list[type]:
    try:
        module = importlib.import_module(name)
    except UserError:  # it needs a package that is not installed, and says so
        return []
    return [
        k for k in vars(module).values() if is_dataclass(k) and isinstance(k, type) and k.__module__ == name
    ]


def every_dataclass() -> list[type]:
    return [kind for name in modules() for kind in dataclasses_of(name)]


def is_settings(kind: type) -> bool:
    return hasattr(kind, "__settings__")


def held(kind: type) -> set[type]:
    """Dataclasses that fields of this one hold."""

    def inside(hint: object) -> set[type]:
        if isinstance(hint, type) and is_dataclass(hint):
            return {hint}
        return {k for part in typing.get_args(hint) for k in inside(part)}

    return {k for hint in typing.get_type_hints(kind).values() for k in inside(hint)}


def test_every_dataclass_that_a_person_or_a_file_fills_is_made_by_settings() -> None:
    must = {k for k in every_dataclass() if k.__module__.endswith(".config") or ".cli." in k.__module__}
    must |= {k for name in READ_FROM_FILES for k in dataclasses_of(name)}
    assert len(must) > 40
    assert sorted(k.__qualname__ for k in must if not is_settings(k)) == []


def test_every_number_of_settings_has_a_range() -> None:
    declared = [k for k in every_dataclass() if is_settings(k)]
    assert {k.__qualname__: found for k in declared if (found := without_range(k))} == {}


def test_settings_hold_settings_only() -> None:
    """Whatever numbers a nested dataclass has would else enter unchecked."""
    plain = {
        f"{k.__qualname__} holds {inner.__qualname__}"
        for k in every_dataclass()
        if is_settings(k)
        for inner in held(k)
        if not is_settings(inner) and without_range(inner)
    }
    assert plain == set()


@pytest.mark.parametrize("whole", [TrainConfig(), DeployConfig()])
def test_a_complaint_names_the_setting_as_the_command_line_does(whole: object) -> None:
    def walk(config: object, path: str) -> None:
        assert typing.cast(typing.Any, config).__settings__ == path
        for f in fields(config):  # type: ignore[arg-type]
            value = getattr(config, f.name)
            if is_dataclass(value):
                walk(value, f"{path}.{f.name}" if path else f.name)

    walk(whole, "")


def test_benchmarks_check_what_they_are_asked() -> None:
    from ssr.cli.bench import BENCHMARKS

    for name in BENCHMARKS:
        run = importlib.import_module(f"ssr.benchmarks.{name}").run
        assert hasattr(run, "__wrapped__") and without_range(run.__wrapped__) == []


# ---- what was once let in -------------------------------------------------------------------------------

HOSTILE_SETTINGS = {
    "task.control_period": (nan, 0.0, -0.02, inf),
    "task.history": (0, -1, 1.5),
    "task.termination.episode_seconds": (0.0, -1.0, nan),
    "task.commands.slope_speed": ((1.0, -1.0), (nan, 1.0), (0.0,)),
    "task.randomization.friction": ((1.25, 0.2), (-1.0, 1.0)),
    "task.rewards.orientation": (nan, inf, "much"),
    "run.snapshot_iterations": (0, -1),
    "run.kept_checkpoints": (-1, 0),
    "run.iterations": (-1, 0),
    "run.checkpoint_minutes": (nan, -1.0),
    "optimizer.learning_rate": (nan, -1.0, inf),
    "ppo.learning_rates": ((1e-3, 1e-5), (nan, 1.0)),
    "ppo.discount": (nan, 1.5),
    "network.gru_hidden": (0, -2, True),
    "network.expert_hidden": ((64, 0),),
    "env.num_envs": (99_999_999_999, 0, -5),
    "schedule.max_std": ((nan, nan), (1.0, -1.0)),
    "seed": (-1, nan, 2**70),
    "ranks": (-1,),
    "robot": (3, None),
    "ppo": (3, {}),
}


@pytest.mark.parametrize(
    "setting, value", [(setting, value) for setting, values in HOSTILE_SETTINGS.items() for value in values]
)
def test_a_hostile_training_setting_is_one_line(setting: str, value: object) -> None:
    with pytest.raises(UserError, match="expected") as error:
        presets.with_setting(presets.preset("cpu"), setting, value)
    assert setting in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("field", [f.name for f in fields(SafetyConfig)])
@pytest.mark.parametrize("value", [nan, inf, -inf, -1.0, 1e6])
def test_no_limit_of_the_controller_can_be_switched_off(field: str, value: float) -> None:
    with pytest.raises(OutOfRange, match=rf"controller\.safety\.{field} .*expected"):
        replace(SafetyConfig(), **{field: value})


@pytest.mark.parametrize(
    "wrong",
    [
        *(lambda v=v: ControllerConfig(damping=v) for v in (nan, inf, 0.0, -1.0, 1e6)),
        *(lambda v=v: StandConfig(stiffness=v) for v in (nan, inf, -1.0, 1e6)),
        *(lambda v=v: StandConfig(seconds=v) for v in (nan, inf, -1.0, 0.0)),
        *(lambda v=v: DdsConfig(lossiness=v) for v in (nan, 1.0, -0.1)),
        *(lambda v=v: DdsConfig(domain=v) for v in (-1, 233, 0.5)),
        *(lambda v=v: DeployConfig(wait=v) for v in (nan, -1.0)),
        *(lambda v=v: DeployConfig(seconds=v) for v in (nan, -1.0)),
    ],
)
def test_no_hostile_number_reaches_the_controller(wrong) -> None:
    with pytest.raises(OutOfRange, match="expected"):
        wrong()


# ---- the mechanism itself -------------------------------------------------------------------------------


@settings("some")
class Inner:
    share: Share = 0.5


@settings("")
class Outer:
    count: Annotated[int, Within(1, 3)] = 1
    span: Annotated[tuple[float, float], Within(-1.0, 1.0, rising=True)] = (0.0, 1.0)
    many: Annotated[tuple[int, ...], Within(0, 9)] = ()
    maybe: Annotated[float | None, Within(0.0, inf)] = None
    word: Literal["a", "b"] = "a"
    inner: Inner = Inner()

    def __post_init__(self) -> None:
        if self.count == 2:
            raise UserError("two is odd here")


@pytest.mark.parametrize(
    "good", [{"count": 3}, {"span": (0, 0)}, {"many": (1, 9)}, {"maybe": inf}, {"maybe": 0}, {"word": "b"}]
)
def test_what_is_declared_is_allowed(good: dict[str, object]) -> None:
    assert vars(Outer(**good)).items() >= good.items()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"count": 4}, "count 4: expected a whole number from 1 to 3."),
        ({"count": 1.0}, "count 1: expected a whole number from 1 to 3."),
        ({"count": True}, "count True: expected a whole number from 1 to 3."),
        ({"span": (1.0, 0.0)}, r"span \(1.0, 0.0\): expected 2 numbers from -1 to 1, least first."),
        ({"span": (nan, 0.0)}, r"span \(nan, 0.0\): expected 2 numbers"),
        ({"span": [0.0, 1.0]}, r"span \[0.0, 1.0\]: expected 2 numbers"),
        ({"many": (10,)}, r"many \(10,\): expected whole numbers from 0 to 9."),
        ({"maybe": nan}, "maybe nan: expected a number from 0 to inf or nothing."),
        ({"word": "c"}, "word 'c': expected a or b."),
        ({"inner": 3}, "inner 3: expected Inner."),
        ({"count": 2}, "two is odd here"),
    ],
)
def test_everything_else_is_refused(bad: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=f"^{words}"):
        Outer(**bad)  # type: ignore[arg-type]


def test_a_nested_setting_is_named_with_its_place() -> None:
    with pytest.raises(OutOfRange, match=r"^some\.share nan: expected a number from 0 to 1\.$"):
        Inner(share=nan)


def test_a_number_without_a_range_is_the_programmers_mistake() -> None:
    @settings("")
    class Forgetful:
        size: float = 1.0

    with pytest.raises(TypeError, match="Forgetful has numbers without a range: size"):
        Forgetful()


def test_a_checked_function_refuses_too() -> None:
    @checked
    def measure(rounds: Annotated[int, Within(1, 9)] = 3) -> int:
        return rounds

    assert measure() == 3 and measure(9) == 9
    with pytest.raises(OutOfRange, match="--rounds 0"):
        measure(rounds=0)

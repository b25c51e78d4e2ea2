"""Table 3: what a level means, kind by kind, and how a user writes a setting.

A setting is a tuple: slope (degrees,), stairs (height, tread), discrete (height,), gap (width, depth),
platform (height,), flat (). Lengths in metres.
"""

from __future__ import annotations

from dataclasses import dataclass

from ssr.errors import UserError, unknown
from ssr.terrain.tile import KINDS, Kind

LEVELS = 20

#: The five terrain types of the paper, in its order. Each has its own style discriminator and commands.
TERRAIN_TYPES = ("slope", "stairs", "discrete", "gap", "platform")
SLOPE = TERRAIN_TYPES.index("slope")

_TYPE_OF: dict[Kind, str] = {"flat": "slope", "stairs_up": "stairs", "stairs_down": "stairs"}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One column of Table 3: its value at the easiest and hardest level, and what a user may ask for."""

    name: str
    unit: str
    easiest: float
    hardest: float
    lowest: float
    highest: float

    def at(self, difficulty: float) -> float:
        return self.easiest + difficulty * (self.hardest - self.easiest)


_ANGLE = Parameter(name="incline", unit="°", easiest=0, hardest=20, lowest=-40, highest=40)
_RISE = Parameter(name="step height", unit=" m", easiest=0.05, hardest=0.2, lowest=0.01, highest=0.4)
_TREAD = Parameter(name="step length", unit=" m", easiest=0.4, hardest=0.25, lowest=0.2, highest=2.0)
_OBSTACLE = Parameter(name="obstacle height", unit=" m", easiest=0.05, hardest=0.2, lowest=0.01, highest=0.6)
_WIDTH = Parameter(name="width", unit=" m", easiest=0.1, hardest=0.8, lowest=0.02, highest=1.5)
_DEPTH = Parameter(name="depth", unit=" m", easiest=0.3, hardest=0.6, lowest=0.05, highest=3.0)
_PLATFORM = Parameter(name="height", unit=" m", easiest=0.05, hardest=0.4, lowest=0.01, highest=1.0)

PARAMETERS: dict[Kind, tuple[Parameter, ...]] = {
    "flat": (),
    "slope": (_ANGLE,),
    "stairs_up": (_RISE, _TREAD),
    "stairs_down": (_RISE, _TREAD),
    "discrete": (_OBSTACLE,),
    "gap": (_WIDTH, _DEPTH),
    "platform": (_PLATFORM,),
}


def check_kind(name: str) -> Kind:
    if name not in KINDS:
        raise unknown("terrain kind", name, KINDS)
    return name


def type_of(kind: Kind) -> str:
    """The terrain type (one of `TERRAIN_TYPES`) a kind belongs to; flat counts as a slope of 0°."""
    return _TYPE_OF.get(kind, kind)


def setting_at(kind: Kind, level: int) -> tuple[float, ...]:
    """Table 3 at a level 0..19, linear in between. A slope's sign is left to who builds the tile."""
    if not 0 <= level < LEVELS:
        raise UserError(f"Level {level}: expected 0 to {LEVELS - 1}; use a setting for anything else.")
    return tuple(p.at(level / (LEVELS - 1)) for p in PARAMETERS[kind])


def parse_level(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(f"Level {text!r}: expected a whole number 0 to {LEVELS - 1}.") from None


def check_setting(kind: Kind, setting: tuple[float, ...]) -> tuple[float, ...]:
    """The setting with every parameter present and within what the geometry allows.

    A gap given by its width alone takes the depth of the level that has this width.
    """
    parameters = PARAMETERS[kind]
    if kind == "gap" and len(setting) == 1:
        difficulty = (setting[0] - _WIDTH.easiest) / (_WIDTH.hardest - _WIDTH.easiest)
        setting = (setting[0], _DEPTH.at(min(max(difficulty, 0.0), 1.0)))
    if len(setting) != len(parameters):
        raise UserError(f"{kind} takes {_expected(kind)}, got {len(setting)} number(s).")
    for value, p in zip(setting, parameters, strict=True):
        if not p.lowest <= value <= p.highest:
            raise UserError(
                f"{kind} {p.name} {value:g}{p.unit}: expected {p.lowest:g} to {p.highest:g}{p.unit}."
            )
    return setting


def parse_setting(kind: Kind, text: str) -> tuple[float, ...]:
    """`0.15/0.30` (stairs: height/tread), `-15` (slope, degrees), `0.9` or `0.9/0.6` (gap: width/depth)."""
    try:
        numbers = tuple(float(part) for part in text.split("/")) if text.strip() else ()
    except ValueError:
        raise UserError(f"Setting {text!r}: {kind} takes {_expected(kind)}.") from None
    return check_setting(kind, numbers)


def describe(kind: Kind, setting: tuple[float, ...]) -> str:
    """`step height 0.15 m, step length 0.3 m`"""
    named = zip(PARAMETERS[kind], setting, strict=True)
    return ", ".join(f"{p.name} {value:.4g}{p.unit}" for p, value in named) or "no parameters"


def _expected(kind: Kind) -> str:
    if kind == "gap":
        return "WIDTH or WIDTH/DEPTH, e.g. 0.8/0.6"
    parameters = PARAMETERS[kind]
    if not parameters:
        return "no setting"
    names = "/".join(p.name.upper().replace(" ", "_") for p in parameters)
    return f"{names}, e.g. {'/'.join(f'{p.at(0.5):g}' for p in parameters)}"

"""`TerrainKind`: everything the project knows about one kind of terrain, in one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ssr.errors import UserError
from ssr.terrain.ground import Edges, Obstacles, Plot
from ssr.terrain.settings import LEVELS

Setting = tuple[float, ...]  #: one value per parameter: metres or degrees


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One column of Table 3: its value at the easiest and hardest level, and what a user may ask for."""

    name: str
    unit: str  #: " m", "°", or another one, which is shown as it is
    easiest: float  #: at level 0
    hardest: float  #: at level 19
    lowest: float  #: that a setting may ask for
    highest: float  #: that a setting may ask for
    rated: bool = True  #: it makes the terrain harder: titles show it, and training has a hardest value

    def at(self, difficulty: float) -> float:
        """Its value at a difficulty from 0, the easiest level, to 1, the hardest."""
        return self.easiest + difficulty * (self.hardest - self.easiest)

    def shown(self, value: float) -> float:
        """In centimetres or degrees, as titles and axes have it."""
        return abs(100 * value if self.unit == " m" else value)

    @property
    def shown_unit(self) -> str:
        return " cm" if self.unit == " m" else self.unit

    def beyond(self, value: float) -> bool:
        """Harder than the hardest level; a sign gives a direction, not a difficulty."""
        excess = abs(value) - self.hardest if self.hardest > self.easiest else self.hardest - abs(value)
        return excess > 1e-9


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Obstacles of a strip that one foot crosses first; m from each obstacle's near edge."""

    spacing: float  #: from one obstacle to the next
    landing: float  #: the first foot that comes down behind this leads …
    reach: float  #: … within so much of it
    drawn: bool = True  #: in Fig. 7b


@dataclass(frozen=True, kw_only=True)
class Section:
    """A strip's side view around one obstacle (Fig. 6a); m from the obstacle's near edge."""

    spacing: float  #: from one obstacle to the next
    extent: float  #: of the obstacle
    margin: float  #: shown before and behind it
    levels: tuple[int, int, int]  #: which of the heights before, on and behind the obstacle is higher
    foothold: bool  #: feet belong on the obstacle, not before and behind it
    legend: str  #: of the places where a whole sole fits
    axis: str  #: what is measured along x
    drawn: bool = True  #: in Fig. 6a


@dataclass(frozen=True, kw_only=True)
class Phantom:
    """How a strip looks that is shown further on than it lies, to see whether feet follow eyes.

    For strips of blocks that reach across their whole width.
    """

    tread: float = 0.32  #: m, of which shifts are shares
    repeats: bool = False  #: its edges come again after every tread
    rise: float = 0.0  #: m per tread: it moves along this line, neither rising nor sinking under the robot


def _as_given(setting: Setting) -> Setting:
    return setting


def _one_way(setting: Setting, rng: np.random.Generator) -> Setting:
    return setting


@dataclass(frozen=True, kw_only=True)
class TerrainKind:
    """A kind's parameters, its geometry, and how the rest of the project treats it."""

    name: str  #: as a user types it
    label: str  #: as tables and figures print it
    order: int  #: its place in lists and tables; no two are alike
    terrain_type: str  #: one of `TERRAIN_TYPES`: its discriminator and, for slopes, no foothold reward
    commands: str  #: row of Table 4: the `CommandConfig` fields that begin with `slope`, `stairs` or `gap`
    written: str  #: how a user writes a setting; empty without parameters
    parameters: tuple[Parameter, ...]
    tile: Callable[[Setting, np.random.Generator], Edges]
    """Where the obstacles of a training tile begin and end along x, within 1.5 to 5.5 m."""
    strip: Callable[[Setting, float], Edges]
    """The same for a strip that has at least so many metres of obstacles."""
    build: Callable[[Setting, Edges, Plot, np.random.Generator], Obstacles]
    """The ground with obstacles between these edges."""

    trained: bool = True  #: may be trained on; else it is for evaluation only
    has_edges: bool = True
    inclined: bool = False  #: a level sole is never wholly supported: footholds are not rated
    has_ramps: bool = False  #: among level ground; a sole on one is judged against its plane
    has_pits: bool = False  #: a sole deep below the ground plane ends the episode
    falling_label: str = ""  #: the label where the first parameter is negative, if that means another thing
    axis: str = ""  #: of its difficulty, for figures
    complete: Callable[[Setting], Setting] = _as_given
    """The setting with what a user may leave out."""
    vary: Callable[[Setting, np.random.Generator], Setting] = _one_way
    """What else a level's setting may mean."""
    courses: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    """Settings it contributes to each named set of evaluation strips."""
    crossing: Callable[[Setting], Crossing] | None = None
    section: Callable[[Setting], Section] | None = None
    phantom: Callable[[Setting], Phantom] | None = None

    def at(self, level: int) -> Setting:
        """Table 3 at a level 0..19, linear in between."""
        if not 0 <= level < LEVELS:
            raise UserError(f"Level {level}: expected 0 to {LEVELS - 1}; use a setting for anything else.")
        return tuple(p.at(level / (LEVELS - 1)) for p in self.parameters)

    def check(self, setting: Setting) -> Setting:
        """The setting with every parameter present and within what the geometry allows."""
        setting = self.complete(setting)
        if len(setting) != len(self.parameters):
            raise UserError(f"{self.name} takes {self.expected}, got {len(setting)} number(s).")
        for value, p in zip(setting, self.parameters, strict=True):
            if not p.lowest <= value <= p.highest:
                raise UserError(
                    f"{self.name} {p.name} {value:g}{p.unit}: expected {p.lowest:g} to {p.highest:g}{p.unit}."
                )
        return setting

    def parse(self, text: str) -> Setting:
        """A setting as a user writes it: `0.15/0.30`, `-15`, nothing for a kind without parameters."""
        try:
            numbers = tuple(float(part) for part in text.split("/")) if text.strip() else ()
        except ValueError:
            raise UserError(f"Setting {text!r}: {self.name} takes {self.expected}.") from None
        return self.check(numbers)

    @property
    def expected(self) -> str:
        """What a user may write, with an example."""
        if not self.parameters:
            return "no setting"
        return f"{self.written}, e.g. {'/'.join(f'{p.at(0.5):g}' for p in self.parameters)}"

    def write(self, setting: Setting) -> str:
        """As `parse` reads it, without what is left out: `0.15/0.3`."""
        lengths = range(len(setting))
        count = next((n for n in lengths if self.complete(setting[:n]) == setting), len(setting))
        return "/".join(f"{v:g}" for v in setting[:count])

    def describe(self, setting: Setting) -> str:
        """`step height 0.15 m, step length 0.3 m`"""
        named = zip(self.parameters, setting, strict=True)
        return ", ".join(f"{p.name} {value:.4g}{p.unit}" for p, value in named) or "no parameters"

    def falls(self, setting: Setting) -> bool:
        """Whether it leads down, where the sign of its first parameter says so."""
        return bool(self.falling_label) and setting[0] < 0

    def name_of(self, setting: Setting) -> str:
        """The label of a setting: `stairs up`, `slope down`."""
        return self.falling_label if self.falls(setting) else self.label

    def rated(self, setting: Setting) -> list[tuple[Parameter, float]]:
        """The parameters that make a setting hard, with their values."""
        return [(p, value) for p, value in zip(self.parameters, setting, strict=True) if p.rated]

    def size(self, setting: Setting) -> str:
        """`15 / 30 cm`, `20°`, or `15 cm / 20°`; empty without parameters."""
        rated = self.rated(setting)
        units = {p.shown_unit for p, _ in rated}
        common = units.pop() if len(units) == 1 else ""
        texts = (f"{p.shown(value):.3g}{'' if common else p.shown_unit}" for p, value in rated)
        return " / ".join(texts) + common

    def beyond(self, setting: Setting) -> bool:
        """Harder than anything in training (Table 3)."""
        return any(p.beyond(value) for p, value in self.rated(setting))

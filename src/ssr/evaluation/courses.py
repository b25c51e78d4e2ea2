"""Courses: the strips a policy is tried on, alone and in the sets the paper reports."""

from __future__ import annotations

from typing import Annotated

from ssr.errors import UserError, unknown
from ssr.ranges import Within, settings
from ssr.terrain.kind import Setting, TerrainKind
from ssr.terrain.registry import all_kinds, kind_named
from ssr.terrain.settings import parse_level


@settings("course")
class Course:
    """22 m of one terrain at one setting (see `TerrainKind`)."""

    kind: str
    setting: Annotated[Setting, Within(-100.0, 100.0)] = ()

    @staticmethod
    def of(kind: str, *setting: float) -> Course:
        """The course of a kind at a setting, which is checked."""
        return Course(kind=kind, setting=kind_named(kind).check(setting))

    @property
    def terrain(self) -> TerrainKind:
        return kind_named(self.kind)

    @property
    def text(self) -> str:
        """The setting as `--setting` takes it: `0.15/0.3`. What a part of it implies is left out."""
        return self.terrain.write(self.setting)

    @property
    def key(self) -> str:
        """Unique, fit for file names: `stairs_up_0.15_0.3`."""
        return "_".join((self.kind, *(f"{v:g}" for v in self.setting)))

    @property
    def title(self) -> str:
        """`stairs up 15 / 30 cm`, starred beyond the curriculum."""
        words = (self.terrain.name_of(self.setting), self.terrain.size(self.setting), "★" * self.beyond)
        return " ".join(word for word in words if word)

    @property
    def beyond(self) -> bool:
        """Harder than anything in training (Table 3)."""
        return self.terrain.beyond(self.setting)

    @property
    def order(self) -> tuple[float, ...]:
        """Sorts as tables list courses: by kind, then from easy to hard; slopes that rise come first."""
        first = abs(self.setting[0]) if self.setting else 0.0
        return (self.terrain.order, float(self.terrain.falls(self.setting)), first, *self.setting[1:])


def course_sets() -> dict[str, tuple[Course, ...]]:
    """`table2`: the settings of Table 2; `standard`: the middle of the curriculum; `sweep`: Fig. 5."""
    sets: dict[str, tuple[Course, ...]] = {"table2": (), "standard": (), "sweep": ()}
    for kind in all_kinds():
        for name, chosen in kind.courses.items():
            sets[name] = (*sets.get(name, ()), *(Course.of(kind.name, *setting) for setting in chosen))
    return sets


def at_level_or_setting(terrain: str, level: str | None, setting: str | None) -> Course:
    """The course of a level 0 to 19 (10 by default) or of a setting, as a user types them."""
    kind = kind_named(terrain)
    if level is not None and setting is not None:
        raise UserError(f"{terrain}: give --level {level} or --setting {setting}, not both.")
    if setting is not None:
        return Course(kind=terrain, setting=kind.parse(setting))
    values = kind.at(10 if level is None else parse_level(level))
    return Course(kind=terrain, setting=tuple(round(v, 4) for v in values))


def choose(sets: tuple[str, ...], terrain: str, setting: str | None) -> list[Course]:
    """The courses of these sets on a terrain kind (or `all`), or the one course of a kind and a setting."""
    if terrain == "all" and setting is not None:
        raise UserError(f"--setting {setting}: give the terrain it belongs to, e.g. --terrain gap.")
    if terrain != "all" and (setting is not None or not kind_named(terrain).parameters):
        return [Course(kind=terrain, setting=kind_named(terrain).parse(setting or ""))]
    known = course_sets()
    for name in sets:
        if name not in known:
            raise unknown("settings", name, known)
    chosen = {course for name in sets for course in known[name]}
    if terrain != "all":
        chosen = {course for course in chosen if course.kind == terrain}
        if not chosen:
            raise UserError(f"{terrain} is not in {', '.join(sets)}: give its --setting, or --sweep.")
    return sorted(chosen, key=lambda course: course.order)

"""Courses: the strips a policy is tried on, alone and in the sets the paper reports."""

from __future__ import annotations

from dataclasses import dataclass

from ssr.errors import UserError, unknown
from ssr.terrain.settings import PARAMETERS, check_kind, check_setting, parse_level, parse_setting, setting_at
from ssr.terrain.tile import KINDS, Kind


@dataclass(frozen=True, kw_only=True)
class Course:
    """22 m of one terrain at one setting (see `ssr.terrain.settings`)."""

    kind: Kind
    setting: tuple[float, ...] = ()

    @staticmethod
    def of(kind: str, *setting: float) -> Course:
        known = check_kind(kind)
        return Course(kind=known, setting=check_setting(known, setting))

    @property
    def text(self) -> str:
        """The setting as `--setting` takes it: `0.15/0.3`. The depth a gap's width implies is left out."""
        values = self.setting
        if self.kind == "gap" and check_setting("gap", values[:1]) == values:
            values = values[:1]
        return "/".join(f"{v:g}" for v in values)

    @property
    def key(self) -> str:
        """Unique, fit for file names: `stairs_up_0.15_0.3`."""
        return "_".join((self.kind, *(f"{v:g}" for v in self.setting)))

    @property
    def title(self) -> str:
        """`stairs up 15 / 30 cm`, starred beyond the curriculum."""
        name = self.kind.replace("_", " ")
        if self.kind == "slope":
            name, size = f"slope {'up' if self.setting[0] >= 0 else 'down'}", f" {abs(self.setting[0]):g}°"
        elif self.kind == "flat":
            size = ""
        else:
            shown = self.setting[:1] if self.kind == "gap" else self.setting
            size = " " + " / ".join(f"{100 * v:.3g}" for v in shown) + " cm"
        return f"{name}{size}{' ★' if self.beyond else ''}"

    @property
    def beyond(self) -> bool:
        """Harder than anything in training (Table 3). A gap's depth does not make it harder."""
        pairs = list(zip(PARAMETERS[self.kind], self.setting, strict=True))
        harder = [
            (abs(value) if self.kind == "slope" else value) - p.hardest
            if p.hardest > p.easiest
            else p.hardest - value
            for p, value in (pairs[:1] if self.kind == "gap" else pairs)
        ]
        return any(excess > 1e-9 for excess in harder)

    @property
    def order(self) -> tuple[float, ...]:
        """Sorts as tables list courses: by kind, then from easy to hard; slopes that rise come first."""
        first = abs(self.setting[0]) if self.setting else 0.0
        falls = self.kind == "slope" and self.setting[0] < 0
        return (KINDS.index(self.kind), float(falls), first, *self.setting[1:])


def _stairs(kind: str) -> list[Course]:
    sizes = ((0.05, 0.40), (0.10, 0.35), (0.15, 0.30), (0.20, 0.25), (0.23, 0.25))
    return [Course.of(kind, *size) for size in sizes]


#: `table2`: the settings of Table 2; `standard`: the middle of the curriculum; `sweep`: Fig. 5
SETS: dict[str, tuple[Course, ...]] = {
    "table2": (
        Course.of("stairs_up", 0.15, 0.30),
        Course.of("stairs_down", 0.15, 0.30),
        Course.of("gap", 0.80),
        Course.of("gap", 0.90),
        Course.of("platform", 0.40),
        Course.of("platform", 0.45),
    ),
    "standard": (
        Course.of("flat"),
        Course.of("slope", 15.0),
        Course.of("stairs_up", 0.13, 0.32),
        Course.of("stairs_down", 0.13, 0.32),
        Course.of("discrete", 0.13),
        Course.of("gap", 0.45),
        Course.of("platform", 0.22),
    ),
    "sweep": (
        *(Course.of("slope", sign * angle) for sign in (1, -1) for angle in (5.0, 10.0, 15.0, 20.0, 25.0)),
        *_stairs("stairs_up"),
        *_stairs("stairs_down"),
        *(Course.of("discrete", height) for height in (0.05, 0.10, 0.15, 0.20, 0.25)),
        *(Course.of("gap", width) for width in (0.2, 0.4, 0.6, 0.8, 0.9)),
        *(Course.of("platform", height) for height in (0.1, 0.2, 0.3, 0.4, 0.45)),
    ),
}


def at_level_or_setting(terrain: str, level: str | None, setting: str | None) -> Course:
    """The course of a level 0 to 19 (10 by default) or of a setting, as a user types them."""
    kind = check_kind(terrain)
    if level is not None and setting is not None:
        raise UserError(f"{kind}: give --level {level} or --setting {setting}, not both.")
    if setting is not None:
        return Course(kind=kind, setting=parse_setting(kind, setting))
    values = setting_at(kind, 10 if level is None else parse_level(level))
    return Course(kind=kind, setting=tuple(round(v, 4) for v in values))


def choose(sets: tuple[str, ...], terrain: str, setting: str | None) -> list[Course]:
    """The courses of these sets on a terrain kind (or `all`), or the one course of a kind and a setting."""
    if setting is not None or terrain == "flat":
        if terrain == "all":
            raise UserError(f"--setting {setting}: give the terrain it belongs to, e.g. --terrain gap.")
        kind = check_kind(terrain)
        return [Course(kind=kind, setting=parse_setting(kind, setting or ""))]
    for name in sets:
        if name not in SETS:
            raise unknown("settings", name, SETS)
    chosen = {course for name in sets for course in SETS[name]}
    if terrain != "all":
        kind = check_kind(terrain)
        chosen = {course for course in chosen if course.kind == kind}
        if not chosen:
            raise UserError(f"{terrain} is not in {', '.join(sets)}: give its --setting, or --sweep.")
    return sorted(chosen, key=lambda course: course.order)

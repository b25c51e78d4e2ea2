"""Plans: which methods are compared, with which seeds, at which budget, and on what they are tried.

    preset = "cpu"
    methods = ["ssr", "no_foothold", "hpl", "pim"]
    seeds = [1, 2]
    steps = 24_000_000
    trials = 40

Every method gets `steps` control steps with every seed, divided among the stages of its recipe: equally, or
as `[shares.ssr]`, `[shares.hpl]` and `[shares.pim]` say. The conditions that may end a stage before are left
out: what is compared is what a budget buys.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ssr.errors import UserError, unknown
from ssr.evaluation.courses import Course, choose
from ssr.learning import recipe
from ssr.learning.presets import Difference
from ssr.ranges import Seed, Within, settings
from ssr.toml_table import TomlTable, written

SHIPPED = files("ssr.study") / "plans"
SUFFIX = ".toml"
MOST_SEEDS = 1000


class Contender(NamedTuple):
    """A method of the paper's comparison."""

    title: str  #: as the paper's figures call it
    family: str  #: whose recipe it is trained by
    flag: str = ""  #: of `ssr.learning.config.AblationConfig`


CONTENDERS = {
    "ssr": Contender("SSR", "ssr"),
    "hpl": Contender("HPL", "hpl"),
    "pim": Contender("PIM", "pim"),
    "no_foothold": Contender("NoFoothold", "ssr", "no_foothold"),
    "no_imagination": Contender("NoImgn", "ssr", "no_imagination"),
    "no_symmetry": Contender("NoSym", "ssr", "no_symmetry"),
    "input_symmetry": Contender("InpSym", "ssr", "input_symmetry"),
    "no_style": Contender("NoStyle", "ssr", "no_style"),
    "single_discriminator": Contender("SglDisc", "ssr", "single_discriminator"),
}

#: preset → whose recipe → its name
RECIPES = {
    "paper": {"ssr": "x2", "hpl": "hpl", "pim": "pim"},
    "cpu": {"ssr": "x2-cpu", "hpl": "hpl-cpu", "pim": "pim-cpu"},
    "smoke": {"ssr": "x2-cpu", "hpl": "hpl-cpu", "pim": "pim-cpu"},
}


@settings("entered")
class Entered:
    """A run that was trained elsewhere, with another budget, and is tried beside the others."""

    method: str
    run: Path
    note: str


@settings("plan")
class StudyPlan:
    name: str
    about: str
    preset: str
    methods: tuple[str, ...]
    seeds: tuple[Seed, ...]
    steps: Annotated[int, Within(1, 1_000_000_000_000)]  #: control steps of a run, all its stages together
    slots: Annotated[int, Within(0, 1024)]  #: runs at a time on one machine; 0: one for each core or GPU
    trials: Annotated[int, Within(1, 1_000_000)]  #: per strip
    snapshots: Annotated[int, Within(2, 10_000)]  #: over which footholds are followed
    courses: tuple[Course, ...]
    directions: bool  #: also walk in eight directions and turn
    shares: dict[str, dict[str, Annotated[int, Within(1, 1_000_000)]]]
    """Whose recipe → stage → how its steps compare with those of other stages; 1 where nothing is said."""
    differences: tuple[Difference, ...] = ()  #: from every recipe
    entered: tuple[Entered, ...] = ()

    def runs(self) -> list[PlannedRun]:
        """Seed by seed, so that a study that is stopped has compared all methods."""
        trained = [
            PlannedRun(name=f"{method}-{seed}", method=method, seed=seed)
            for seed in self.seeds
            for method in self.methods
        ]
        others = [
            PlannedRun(name=f"entered-{number}-{one.method}", method=one.method, entered=one)
            for number, one in enumerate(self.entered, 1)
        ]
        return trained + others

    def recipe_text(self, method: str) -> str:
        """The TOML file by which a method is trained."""
        content = self._content(method)
        iterations = sum(steps // rollout for _, steps, rollout in self._stages(method))
        every = max(1, iterations // self.snapshots)
        content["differences"].append(
            _difference("run.snapshot_iterations", every, "as many as are followed")
        )
        return written(content) + "\n"

    def recipe(self, method: str, seed: int) -> recipe.Recipe:
        return recipe.read(self.recipe_text(method), method, seed)

    def _content(self, method: str) -> dict[str, Any]:
        """The recipe of its family with this plan's preset, differences and budget."""
        contender = CONTENDERS[method]
        content = tomllib.loads(recipe.text_of(RECIPES[self.preset][contender.family]))
        stages = content["stage"]
        common = [*content.get("differences", []), *(vars(d) for d in self.differences)]
        if contender.flag:
            common.append(_difference(f"ablation.{contender.flag}", True, "what is left out"))
        own = {d.setting for d in self.differences}  # the plan's word counts in every stage
        for stage, share in zip(stages, self._divided(contender.family, stages), strict=True):
            stage["steps"] = max(1, share)
            stage["differences"] = [d for d in stage.get("differences", []) if d["setting"] not in own]
            for name in ("until", "held", "smoothing"):
                stage.pop(name, None)
        head = {"about": f"{contender.title}: {content['about']}", "preset": self.preset}
        return head | {"differences": common, "stage": stages}

    def _divided(self, family: str, stages: list[dict[str, Any]]) -> list[int]:
        """Control steps of each stage, all of them together the budget."""
        weights = [self.shares.get(family, {}).get(stage["name"], 1) for stage in stages]
        ends = [self.steps * sum(weights[: k + 1]) // sum(weights) for k in range(len(weights))]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    def _stages(self, method: str) -> list[tuple[str, int, int]]:
        """Name, control steps and control steps of one iteration, stage by stage."""
        stages = recipe.read(written(self._content(method)), method).stages
        return [(s.name, s.steps, s.config.env.num_envs * s.config.ppo.steps) for s in stages]

    def require_possible_budget(self, where: str) -> None:
        """Every stage of every method has at least one iteration, and there are snapshots to follow."""
        for method in self.methods:
            stages = self._stages(method)
            name, steps, rollout = min(stages, key=lambda stage: stage[1] / stage[2])
            if steps < rollout or sum(steps // rollout for _, steps, rollout in stages) < 2:
                raise UserError(
                    f"{where}: `steps` is {self.steps:,}, which leaves {method} {steps:,} in "
                    f"stage {name}; one iteration has {rollout:,}. Give more."
                )


@settings("run")
class PlannedRun:
    """One method with one seed, or a run from elsewhere."""

    name: str
    method: str
    seed: Annotated[int | None, Within(0, 2**32 - 1)] = None
    entered: Entered | None = None

    @property
    def title(self) -> str:
        title = CONTENDERS[self.method].title
        return f"{title} †" if self.entered else f"{title}, seed {self.seed}"


def shipped() -> list[str]:
    return sorted(f.name.removesuffix(SUFFIX) for f in SHIPPED.iterdir() if f.name.endswith(SUFFIX))


def located(given: str) -> tuple[str, str, Path]:
    """Name, text and folder of a plan: a TOML file, or one that ships, with or without its ending."""
    path, name = Path(given), Path(given).name.removesuffix(SUFFIX)
    if path.is_file():
        return name, path.read_text(errors="replace"), path.parent
    if given.removesuffix(SUFFIX) in shipped():
        return name, (SHIPPED / f"{name}{SUFFIX}").read_text(), Path()
    if path.suffix == SUFFIX:
        raise UserError(f"Plan {given} does not exist. Shipped ones: {', '.join(shipped())}.")
    raise unknown("plan", given, shipped())


def read(text: str, name: str, beside: Path, steps: int | None = None) -> StudyPlan:
    """The plan that a TOML text describes; a mistake anywhere in it is an error before anything starts.

    beside: the folder that paths of entered runs start from; steps: instead of the plan's own.
    """
    where = f"Plan {name}"
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where} is not valid TOML: {error}.") from error
    top = TomlTable(content, where)
    preset = top.take("preset", str)
    if preset not in RECIPES:
        raise unknown(f"preset of {where.lower()}", preset, RECIPES)
    own = top.count("steps")
    plan = StudyPlan(
        name=name,
        about=top.take("about", str, ""),
        preset=preset,
        methods=_methods(top),
        seeds=_seeds(top),
        steps=own if steps is None else steps,
        slots=top.take("slots", int, 0),
        trials=top.count("trials"),
        snapshots=top.take("snapshots", int, 10),
        courses=tuple(choose(tuple(map(str, top.take("settings", list, ["table2"]))), "all", None)),
        directions=top.take("directions", bool, True),
        shares=_shares(top, preset),
        differences=recipe.differences_of(top),
        entered=tuple(_entered(row, f"{where}, entered", beside) for row in top.take("entered", list, [])),
    )
    top.require_empty()
    for method in plan.methods:
        plan.recipe(method, plan.seeds[0])  # whatever its differences get wrong
    plan.require_possible_budget(where)
    return plan


def _methods(top: TomlTable) -> tuple[str, ...]:
    given = list(map(str, top.take("methods", list)))
    for name in given:
        if name not in CONTENDERS:
            raise unknown(f"method of {top.where.lower()}", name, CONTENDERS)
    if not given or len(set(given)) < len(given):
        raise UserError(f"{top.where}: `methods` is {given!r}, expected one or more, each once.")
    return tuple(given)


def _seeds(top: TomlTable) -> tuple[int, ...]:
    """A number of seeds, or which."""
    given = top.take("seeds", (int, list))
    if isinstance(given, int) and given > MOST_SEEDS:
        raise UserError(f"{top.where}: `seeds` is {given}, expected at most {MOST_SEEDS:,}.")
    seeds = list(range(1, given + 1)) if isinstance(given, int) else given
    whole = all(isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 for seed in seeds)
    if not seeds or not whole or len(set(seeds)) < len(seeds):
        raise UserError(f"{top.where}: `seeds` is {given!r}, expected at least one, each once.")
    return tuple(seeds)


def _shares(top: TomlTable, preset: str) -> dict[str, dict[str, int]]:
    given = top.take("shares", dict, {})
    for family, weights in given.items():
        if family not in RECIPES[preset]:
            raise unknown(f"name in `shares` of {top.where.lower()}", family, RECIPES[preset])
        known = [stage["name"] for stage in tomllib.loads(recipe.text_of(RECIPES[preset][family]))["stage"]]
        table = TomlTable(weights, f"{top.where}, shares.{family}")
        for stage in weights:
            if stage not in known:
                raise unknown(f"stage of {table.where}", stage, known)
            table.count(stage)
    return dict(given)


def _entered(row: Any, where: str, beside: Path) -> Entered:
    table = TomlTable(row, where)
    method = table.take("method", str)
    if method not in CONTENDERS:
        raise unknown(f"method of {table.where.lower()}", method, CONTENDERS)
    run = beside / table.take("run", str)
    if not run.exists():
        raise UserError(f"{table.where}: {str(run)!r} does not exist.")
    found = Entered(method=method, run=run.resolve(), note=table.take("note", str))
    table.require_empty()
    return found


def _difference(setting: str, value: Any, reason: str) -> dict[str, Any]:
    return {"setting": setting, "value": value, "reason": reason}

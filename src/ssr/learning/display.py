"""Watching training: a live table on a terminal, one plain line per report elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from ssr.learning.edge_sight import SHOWN
from ssr.terrain.settings import TERRAIN_TYPES

ROWS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "speed",
        (
            ("steps/s", "steps_per_second", ",.0f"),
            ("M steps", "total_steps", "M"),
            ("memory MB", "peak_memory_mb", ",.0f"),
        ),
    ),
    (
        "return",
        (
            *((name, f"return/{name}", ".2f") for name in ("locomotion", "foothold", "style")),
            ("episode", "episode_steps", ".0f"),
        ),
    ),
    (
        "walking",
        (
            ("speed ÷ command", "tracking", ".2f"),
            ("touchdowns/s", "touchdowns_per_second", ".2f"),
            ("falls/min", "falls_per_minute", ".2f"),
            ("bootstrap", "bootstrap", ".2f"),
            ("ramp", "ramp", ".2f"),
        ),
    ),
    ("level", tuple((name, f"level/{name}", ".1f") for name in TERRAIN_TYPES)),
    (
        "policy",
        (
            ("lr", "learning_rate", ".1e"),
            ("KL", "kl", ".4f"),
            ("std", "std", ".2f"),
            ("entropy", "entropy", ".1f"),
        ),
    ),
    (
        "footholds",
        (
            ("RMSE m", "foothold_rmse", ".3f"),
            ("safe", "safe_foothold_rate", ".0%"),
            ("support", "mean_support", ".0%"),
            ("active latents", "active_latents", ".1f"),
        ),
    ),
    ("edges seen", tuple((name, f"edge_sight/{name}", ".2f") for name in SHOWN)),
    ("cadence", tuple((name, f"cadence/{name}", ".1f") for name in TERRAIN_TYPES)),
    ("safe", tuple((name, f"safe_foothold_rate/{name}", ".0%") for name in TERRAIN_TYPES)),
    ("landing m", tuple((name, f"foothold_rmse/{name}/3-5", ".3f") for name in TERRAIN_TYPES)),
    ("style", tuple((name, f"style_reward/{name}", ".2f") for name in TERRAIN_TYPES)),
    (
        "independent",
        (
            *((name, f"independent/{name}", ".0%") for name in ("locomotion", "foothold", "style")),
            ("beyond Table 6", "beyond_table_6", ".0%"),
        ),
    ),
    ("score ref", tuple((name, f"score_reference/{name}", ".2f") for name in (*TERRAIN_TYPES, "all"))),
    ("score policy", tuple((name, f"score_policy/{name}", ".2f") for name in (*TERRAIN_TYPES, "all"))),
)


LEGEND = f"""\
# Each line: iteration/all, control steps per second, control steps in all, time left, then
#   return      of locomotion/foothold/style over an episode; episode: its length in control steps
#   track       measured ÷ commanded speed; steps: touchdowns per second
#   level       0 to 19 by terrain type: {", ".join(f"{name[:2]} {name}" for name in TERRAIN_TYPES)}
#   lr kl std   learning rate, change of the policy per update, noise of its actions
#   boot ramp   share of the bootstrap rewards, and of the randomization
#   rmse safe   error of imagined footholds (m); share of touchdowns with enough support
#   latents     in use by the imagination; cadence: steps per second by terrain type
#   edges       share of stair edges in the decoded height maps, up/down
#   beyond Table 6: share of the reward that the paper's table does not have"""


def _number(metrics: Mapping[str, float], key: str, form: str) -> str:
    value = metrics.get(key)
    if value is None:
        return "–"
    return f"{value / 1e6:.2f}" if form == "M" else f"{value:{form}}"


def panel(metrics: Mapping[str, float]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for title, cells in ROWS:
        shown = [
            f"[dim]{name}[/] {_number(metrics, key, form)}" for name, key, form in cells if key in metrics
        ]
        if shown:
            grid.add_row(f"[bold]{title}[/]", "   ".join(shown))
    return grid


def line(metrics: Mapping[str, float], iterations: int, left: str, label: str = "") -> str:
    """Everything that matters most, in one plain line."""
    levels = " ".join(f"{n[:2]}{metrics[f'level/{n}']:.1f}" for n in TERRAIN_TYPES if f"level/{n}" in metrics)
    pick = lambda key, form: _number(metrics, key, form)

    def each(name: str, form: str) -> str:
        """`cadence sl2.1 st3.4`: one metric on every terrain type that has it."""
        kinds = [kind for kind in TERRAIN_TYPES if f"{name}/{kind}" in metrics]
        return " ".join([name, *(f"{kind[:2]}{pick(f'{name}/{kind}', form)}" for kind in kinds)])

    return (
        f"{label}{int(metrics['iteration'])}/{iterations}  {pick('steps_per_second', ',.0f')} steps/s  "
        f"{pick('total_steps', 'M')}M  left {left}  "
        f"return {'/'.join(pick(f'return/{name}', '.2f') for name in ('locomotion', 'foothold', 'style'))}  "
        f"episode {pick('episode_steps', '.0f')}  track {pick('tracking', '.2f')}  "
        f"steps {pick('touchdowns_per_second', '.2f')}/s  level {levels or '–'}  "
        f"lr {pick('learning_rate', '.0e')}  "
        f"kl {pick('kl', '.3f')}  std {pick('std', '.2f')}  boot {pick('bootstrap', '.2f')}  "
        f"ramp {pick('ramp', '.2f')}  rmse {pick('foothold_rmse', '.3f')}  "
        f"safe {pick('safe_foothold_rate', '.0%')}  latents {pick('active_latents', '.0f')}  "
        f"{each('cadence', '.1f')}  {each('style_reward', '.2f')}  stairs: edges "
        f"{pick('edge_sight/stairs/up', '.2f')}/{pick('edge_sight/stairs/down', '.2f')} "
        f"safe {pick('safe_foothold_rate/stairs', '.0%')}  "
        f"beyond Table 6 {pick('beyond_table_6', '.0%')}"
    )


def duration(seconds: float) -> str:
    minutes, s = divmod(int(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02d}:{s:02d}"


class Display:
    """Shows the metrics of each iteration; used as a context."""

    def __init__(
        self,
        iterations: int,
        first: int,
        stream: TextIO | None = None,
        every: float = 10.0,
        shown: bool = True,
        label: str = "",
    ) -> None:
        """label: what stands before the iteration, e.g. the name of a stage."""
        self.label = label
        self.iterations, self.first, self.every, self.shown = iterations, first, every, shown
        self.console = Console(file=stream or sys.stderr)
        self.started, self.last = time.monotonic(), 0.0
        self.live: Live | None = None
        self.progress = Progress(
            TextColumn(f"{label}iteration {{task.completed:,.0f}}/{{task.total:,.0f}}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task = self.progress.add_task("train", total=iterations, completed=first)

    def __enter__(self) -> Display:
        if self.shown and self.console.is_terminal:
            self.live = Live(self.progress, console=self.console, refresh_per_second=2)
            self.live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live is not None:
            self.live.__exit__(None, None, None)

    def show(self, metrics: Mapping[str, float]) -> None:
        iteration = int(metrics["iteration"])
        now = time.monotonic()
        if self.live is not None:
            self.progress.update(self.task, completed=iteration)
            self.live.update(Group(self.progress, panel(metrics)))
        elif now - self.last >= self.every or iteration == self.iterations:
            if self.last == 0.0:
                print(LEGEND, file=self.console.file)
            self.last = now
            rate = (iteration - self.first) / max(now - self.started, 1e-6)
            left = duration((self.iterations - iteration) / rate) if rate > 0 else "?"
            print(line(metrics, self.iterations, left, self.label), file=self.console.file, flush=True)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

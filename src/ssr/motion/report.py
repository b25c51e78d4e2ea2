"""Tables of what a dataset holds and how good it is."""

from __future__ import annotations

import numpy as np
import torch
from rich.box import SIMPLE_HEAD
from rich.table import Table

from ssr.motion.clip import COLUMNS, Clip
from ssr.motion.dataset import OWN, TABLE_11, MotionDataset
from ssr.motion.gait import WALKS, ClipGait, gait
from ssr.motion.kinematics import Kinematics
from ssr.motion.limbs import limbs
from ssr.motion.quality import Quality
from ssr.motion.speeds import BIN, HIGHEST, LOWEST, bins, commanded
from ssr.motion.targets import FPS
from ssr.symmetry.vectors import layouts

GAIT_BIN = 0.2  #: m/s, of the gait table


def _narrow(first: str, *, title: str) -> Table:
    """A table for 80 columns whose first one names the row and stays whole."""
    tight = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    table = Table(title=title, title_justify="left", **tight)  # type: ignore[arg-type]
    table.add_column(first, no_wrap=True)
    return table


def quality_table(rows: list[Quality]) -> Table:
    table = _narrow("clip", title="Quality")
    for name in ("s", "slip\ncm/s", "into ground\ncm", "key points\ncm", "limits"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("kept")
    for q in rows:
        table.add_row(
            q.clip,
            f"{q.seconds:.1f}",
            f"{100 * q.slip_m_s:.2f}",
            f"{100 * q.penetration_m:.2f}",
            f"{100 * q.keypoint_error_m:.2f}",
            str(q.limit_violations),
            "yes" if q.kept else "no",
        )
    return table


def left_out_table(rows: list[Quality]) -> Table:
    """What was not kept, and why."""
    table = _narrow("clip", title="Left out")
    table.add_column("because")
    for q in rows:
        if not q.kept:
            table.add_row(q.clip, q.reason)
    return table


def seconds_table(dataset: MotionDataset) -> Table:
    """Table 11: seconds per motion column and terrain type, mirrored copies not counted."""
    seconds = dataset.seconds()
    table = _narrow("motion", title="Seconds (recorded + planned)")
    for kind in TABLE_11:
        table.add_column(kind, justify="right", no_wrap=True)
    for column in (c for c in COLUMNS if c != "stand"):
        recorded, planned = seconds[column]
        cells = [
            f"{recorded:.0f} + {planned:.0f}{'*' if column == OWN[kind] else ''}" if column in columns else ""
            for kind, columns in TABLE_11.items()
        ]
        table.add_row(column, *cells)
    totals, shares = [], []
    for columns in TABLE_11.values():
        recorded, planned = (sum(seconds[c][k] for c in columns) for k in (0, 1))
        totals.append(f"{recorded + planned:.1f}")
        shares.append(f"{100 * planned / max(recorded + planned, 1e-9):.0f} %")
    table.add_row("total", *totals)
    table.add_row("planned", *shares)
    stand = seconds["stand"]
    table.caption = f"* the terrain's own motion · standing: {stand[0]:.0f} + {stand[1]:.0f} s in every set"
    return table


def speed_table(dataset: MotionDataset) -> Table:
    """Per terrain type and speed: how often it is commanded, how often drawn, and seconds of own motion."""
    table = _narrow("m/s", title="Speeds: % commanded | % drawn | s of own motion")
    histograms = {kind: speed_histogram(dataset, kind) for kind in TABLE_11}
    for kind in histograms:
        table.add_column(kind, justify="right", no_wrap=True)
    for k in range(LOWEST, HIGHEST + 1):
        cells = []
        for asked, drawn, seconds in histograms.values():
            row = asked[k - LOWEST], drawn[k - LOWEST], seconds[k - LOWEST]
            cells.append(
                f"{100 * row[0]:.0f} | {100 * row[1]:.0f} | {row[2]:3.0f}" if max(row) > 0.005 else ""
            )
        table.add_row(f"{BIN * k:+.1f}", *cells)
    return table


def speed_histogram(dataset: MotionDataset, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three (bins,): share of the type's commands, share of its drawn windows, seconds of its own motion."""
    generator = torch.Generator().manual_seed(0)
    count, size = 20_000, HIGHEST - LOWEST + 1
    asked = commanded(kind, count, generator)
    ahead = layouts(dataset.robot).amp.get(
        dataset.amp_windows(kind, count, generator, asked), "base_velocity"
    )
    histogram = lambda speeds: np.bincount((bins(speeds) - LOWEST).numpy(), minlength=size)
    copies = len(dataset.frames) / sum(c.frames for c in dataset.clips)
    own = dataset.speeds.get(OWN[kind], torch.empty(0))
    return (
        histogram(asked) / count,
        histogram(ahead[..., 0].mean(1)) / count,
        histogram(own) / (FPS * copies),
    )


def gait_table(dataset: MotionDataset) -> Table:
    """How each kind of motion walks, by speed."""
    table = _narrow("motion", title="Gait, by speed over the ground")
    for name in ("m/s", "clips", "steps/s", "step m", "knee °", "hip height %"):
        table.add_column(name, justify="right", no_wrap=True)
    groups: dict[tuple[str, int], list[ClipGait]] = {}
    for clip, measured in gaits(dataset):
        made = "planned" if clip.synthetic else "recorded"
        groups.setdefault((f"{clip.column}, {made}", round(measured.speed / GAIT_BIN)), []).append(measured)
    for (name, speed), members in sorted(groups.items()):
        mean = lambda field, members=members: np.mean([getattr(g, field) for g in members])
        table.add_row(
            name,
            f"{GAIT_BIN * speed:.1f}",
            str(len(members)),
            f"{mean('cadence'):.2f}",
            f"{mean('step_length'):.2f}",
            f"{mean('knee'):.0f}",
            f"{100 * mean('hip_height'):.1f}",
        )
    return table


def gaits(dataset: MotionDataset) -> list[tuple[Clip, ClipGait]]:
    """The clips that walk at least three steps, and how."""
    body = limbs(dataset.robot, Kinematics(dataset.robot).model)
    knees = [k for k, name in enumerate(dataset.robot.joint_names) if "knee" in name]
    measured = [(clip, gait(clip, body, knees)) for clip in dataset.clips if clip.column in WALKS]
    return [(clip, g) for clip, g in measured if g is not None]

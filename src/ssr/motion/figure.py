"""A picture of one clip: the robot doing it, and how base, soles and joints move."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ssr.errors import UserError
from ssr.files import replacing
from ssr.motion import film, ground
from ssr.motion.clip import Clip
from ssr.motion.dataset import TABLE_11, MotionDataset
from ssr.motion.kinematics import Kinematics
from ssr.motion.report import gaits, speed_histogram
from ssr.motion.speeds import BIN, HIGHEST, LOWEST
from ssr.motion.targets import FPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Clips of the overview, where a dataset has them.
SHOWN = (
    "16_15", "stairs_0.35_+0.10_0.75", "stairs_0.31_-0.13_0.90", "slope_+13_+0.60", "obstacles_0.11_0.60",
    "gap_0.50_0.9", "platform_0.30_0.75", "sidle_+0.0_+0.40",
)  # fmt: skip
GAIT_COLOURS = {"forward": "#2e6f95", "stairs": "#d1495b", "slope": "#66a182", "step": "#edae49"}
SIDE_COLOURS = (("right", "#d1495b"), ("left", "#2e6f95"))


def save(path: Path, clip: Clip, kinematics: Kinematics, panels: int = 12) -> None:
    """Write the picture of `clip` to `path` (PNG)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    configurations = kinematics.configurations(clip.base_position, clip.base_quaternion, clip.joint_position)
    strip = film.strip(kinematics.robot, configurations, clip.boxes, panels=panels, columns=panels)
    motion = kinematics.trajectories(configurations)
    times = np.arange(clip.frames) / FPS
    heights = (1.6, 1.4, 1.4, 2.0)
    figure, axes = plt.subplots(4, 1, figsize=(13, 10), height_ratios=heights, layout="constrained")
    axes[0].imshow(strip)
    axes[0].axis("off")
    quality, made = clip.quality, "planned" if clip.synthetic else "recorded"
    axes[0].set_title(
        f"{clip.name} · {clip.column} · {made} · {clip.seconds:.1f} s · "
        f"slip {100 * quality.slip_m_s:.1f} cm/s · penetration {100 * quality.penetration_m:.1f} cm · "
        f"key points {100 * quality.keypoint_error_m:.1f} cm"
    )
    for name, values in zip("xyz", clip.base_velocity().T, strict=True):
        axes[1].plot(times, values, label=f"v {name}")
    axes[1].set_ylabel("base velocity, m/s")
    for side, (name, colour) in enumerate(SIDE_COLOURS):
        sole = motion.sole_position[:, side]
        axes[2].plot(times, sole[:, 2], color=colour, label=f"{name} sole")
        under = ground.height(clip.boxes, sole[:, :2])
        axes[2].plot(times, under, color=colour, linestyle=":", linewidth=0.8)
    axes[2].set_ylabel("height, m (dotted: ground)")
    legs = [
        k for k, name in enumerate(clip.joint_names) if "knee" in name or "hip" in name or "ankle" in name
    ]
    pitch = [k for k in legs if any(part in clip.joint_names[k] for part in ("pitch", "knee", "_y_"))]
    for k in pitch:
        name = clip.joint_names[k].removesuffix("_joint")
        colour = dict(SIDE_COLOURS).get(name.split("_")[0], "grey")
        style = "-" if "knee" in name else "--" if "hip" in name else ":"
        axes[3].plot(times, clip.joint_position[:, k], color=colour, linestyle=style, label=name)
    axes[3].set_ylabel("joint angle, rad")
    axes[3].set_xlabel("time, s")
    for axis in axes[1:]:
        axis.legend(loc="upper right", fontsize=7, ncols=6)
        axis.margins(x=0)
    _write(figure, path)


def overview(path: Path, dataset: MotionDataset, kinematics: Kinematics, panels: int = 14) -> None:
    """Write a picture of a dataset: what the robot does, at which speeds, and how it walks (PNG)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [c for name in SHOWN for c in dataset.clips if c.name == name]
    figure = plt.figure(figsize=(15, 1.35 * len(shown) + 7), layout="constrained")
    rows = figure.subfigures(3, 1, height_ratios=(1.35 * len(shown) + 0.1, 3.5, 3.5), squeeze=False)
    films, histograms, curves = rows[:, 0]
    for axis, clip in zip(films.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0], shown, strict=False):
        q = kinematics.configurations(clip.base_position, clip.base_quaternion, clip.joint_position)
        axis.imshow(film.strip(kinematics.robot, q, clip.boxes, panels=panels, columns=panels))
        axis.set_title(f"{clip.name} ({'planned' if clip.synthetic else 'recorded'})", fontsize=9, loc="left")
        axis.axis("off")
    speeds = BIN * np.arange(LOWEST, HIGHEST + 1)
    for axis, kind in zip(histograms.subplots(1, len(TABLE_11), sharey=True), TABLE_11, strict=True):
        asked, drawn, _ = speed_histogram(dataset, kind)
        axis.bar(speeds - 0.02, 100 * asked, width=0.04, label="commanded (Table 4)", color="#8d99ae")
        axis.bar(speeds + 0.02, 100 * drawn, width=0.04, label="reference", color="#2e6f95")
        axis.set(title=kind, xlabel="m/s ahead", ylim=(0, 30))
    axis.legend(fontsize=7)
    walks = gaits(dataset)
    named = (
        ("cadence", "steps/s"), ("step_length", "step, m"), ("knee", "mean knee, °"), ("hip_height", "hips"),
    )  # fmt: skip
    for axis, (field, label) in zip(curves.subplots(1, len(named)), named, strict=True):
        for column, colour in GAIT_COLOURS.items():
            for synthetic, mark in ((False, "o"), (True, "x")):
                of = [g for c, g in walks if c.column == column and c.synthetic == synthetic]
                axis.scatter(
                    [g.speed for g in of], [getattr(g, field) for g in of], s=14, marker=mark, color=colour,
                    label=f"{column}, {'planned' if synthetic else 'recorded'}",
                )  # fmt: skip
        axis.set(xlabel="speed, m/s", ylabel=label, xlim=(0, 1.6))
    axis.legend(fontsize=6)
    _write(figure, path, dpi=75)


def _write(figure: Figure, path: Path, dpi: int = 90) -> None:
    """The figure as PNG, whole or not at all."""
    import matplotlib.pyplot as plt

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            figure.savefig(partial, dpi=dpi, format="png")
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror or error}.") from None
    finally:
        plt.close(figure)

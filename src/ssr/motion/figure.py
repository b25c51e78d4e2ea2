"""A picture of one clip: the robot doing it, and how base, soles and joints move."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssr.errors import UserError
from ssr.files import replacing
from ssr.motion import film, ground
from ssr.motion.clip import Clip
from ssr.motion.kinematics import Kinematics
from ssr.motion.targets import FPS

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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            figure.savefig(partial, dpi=90, format="png")
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror or error}.") from None
    finally:
        plt.close(figure)

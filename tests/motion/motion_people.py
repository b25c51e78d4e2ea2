"""People to record without a recording: the taller robot walks a plan, its joints are the person's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssr import rotation
from ssr.motion import curves
from ssr.motion.bvh import CMU_JOINTS, CMU_UNIT
from ssr.motion.footsteps import Plan
from ssr.motion.posture import ankle_position, shoulder_position
from ssr.motion.recording import KEY_POINTS, Recording
from ssr.motion.solver import Solver

PERSON_FPS = 100.0


def record(person: Solver, plan: Plan, name: str = "person") -> Recording:
    """What a motion capture system would have seen of `plan`, done by `person`."""
    limbs = person.limbs
    t = curves.follow(plan, limbs, 0.0)
    hip = t.base_position[:, None] + rotation.rotate(t.base_quaternion[:, None], limbs.hip[None])
    ankle = ankle_position(t.sole_position, t.sole_quaternion, limbs)
    toe = t.sole_position + rotation.rotate(t.sole_quaternion, np.array([0.10, 0.0, 0.03]))
    shoulder = np.stack(
        [
            shoulder_position(limbs, t.base_position, t.base_quaternion, t.torso_quaternion, side)
            for side in range(2)
        ],
        axis=1,
    )
    up = rotation.rotate(t.torso_quaternion, np.array([0.0, 0.0, 0.5]))
    parts = {
        "hip": hip, "knee": t.knee_position, "ankle": ankle, "toe": toe,
        "shoulder": shoulder, "elbow": t.elbow_position, "hand": t.hand_position,
    }  # fmt: skip
    points = {"pelvis": t.base_position, "neck": t.base_position + up}
    for part, values in parts.items():
        points[f"right_{part}"], points[f"left_{part}"] = values[:, 0], values[:, 1]
    stacked = np.stack([points[k] for k in KEY_POINTS], axis=1)
    fine = np.repeat(stacked, 2, axis=0)
    fine[1:-1:2] = 0.5 * (stacked[:-1] + stacked[1:])
    return Recording(name=name, fps=PERSON_FPS, points=fine)


def write_bvh(path: Path, recording: Recording) -> Path:
    """A BVH file with CMU joint names: every joint hangs on the hips and carries its own position."""
    axes = lambda p: p[..., [1, 2, 0]] / CMU_UNIT  # our x forward, y left, z up to the file's z, x, y
    others = [k for k in KEY_POINTS if k != "pelvis"]
    lines = ["HIERARCHY", "ROOT Hips", "{", "OFFSET 0 0 0", "CHANNELS 3 Xposition Yposition Zposition"]
    for key in others:
        lines += [f"JOINT {CMU_JOINTS[key]}", "{", "OFFSET 0 0 0"]
        lines += ["CHANNELS 3 Xposition Yposition Zposition", "End Site", "{", "OFFSET 0 0 1", "}", "}"]
    lines += ["}", "MOTION"]
    pelvis = recording.point("pelvis")
    columns = [axes(pelvis)] + [axes(recording.point(k) - pelvis) for k in others]
    values = np.concatenate(columns, axis=1)
    values = np.concatenate((values[:1], values))  # the T-pose frame that CMU files begin with
    lines += [f"Frames: {len(values)}", f"Frame Time: {1.0 / recording.fps:.6f}"]
    lines += [" ".join(f"{v:.5f}" for v in row) for row in values]
    path.write_text("\n".join(lines) + "\n")
    return path

"""One door for every format: a file becomes a recording, or one line says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from ssr.errors import UserError
from ssr.motion import amass, bvh, joint_arrays
from ssr.motion.recording import KEY_POINTS, Recording, without_opening_jump
from ssr.ranges import Within, settings


@settings("--")
class ImportSettings:
    """What a file does not say about itself."""

    joints: Path | None = None  #: JSON: our key-point names → the file's joint names
    unit: Annotated[float | None, Within(1e-6, 1000.0)] = None  #: metres per unit of a BVH file
    up: str = "y"  #: up-axis of a BVH file, "y" or "z"
    skip: Annotated[int | None, Within(0, 1_000_000)] = None  #: frames left out at the start
    fps: Annotated[float | None, Within(1.0, 10_000.0)] = None  #: of a joint-position array
    body_model: Path | None = None  #: SMPL-H model.npz, for AMASS files


def load(path: Path, settings: ImportSettings | None = None) -> Recording:
    """Read a .bvh, a joint-position .npz or an AMASS .npz."""
    s = settings or ImportSettings()
    if s.up not in ("y", "z"):
        raise UserError(f"--up {s.up!r}: expected y or z.")
    if s.unit is not None and not 0.0 < s.unit < 1e3:
        raise UserError(f"--unit {s.unit}: expected metres per file unit, greater than 0.")
    if not path.is_file():
        raise UserError(f"No such file: {path}.")
    if path.suffix.lower() == ".bvh":
        joints = _joint_map(s.joints) if s.joints else None
        return without_opening_jump(bvh.recording(path, joints=joints, unit=s.unit, up=s.up, skip=s.skip))
    if path.suffix.lower() == ".npz":
        data = joint_arrays.arrays(path)
        if "joint_positions" in data:
            return joint_arrays.recording(path, data, s.fps)
        if "poses" in data:
            return amass.recording(path, data, s.body_model)
        raise UserError(
            f"{path} has the arrays {', '.join(sorted(data)) or 'none'}; "
            "expected joint_positions (joint-position array) or poses and trans (AMASS)."
        )
    raise UserError(f"{path}: unknown format {path.suffix!r}. Known: .bvh, .npz (joint positions or AMASS).")


def _joint_map(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"Cannot read the joint map {path}: {error}.") from None
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise UserError(f"{path}: expected a JSON object of key point → joint name.")
    missing = [k for k in KEY_POINTS if k not in content]
    if missing:
        raise UserError(f"{path}: no joint for {', '.join(missing)}.")
    return content

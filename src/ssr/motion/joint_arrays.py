"""Joint-position arrays: `joint_positions` (T, 53, 3) in an .npz, metres, z up, boxes beside it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ssr.errors import UserError, one_line
from ssr.files import DAMAGED
from ssr.motion.recording import KEY_POINTS, Block, Recording, checked

#: Where the key points lie among the 53 joints.
INDEX = {
    "pelvis": 0, "neck": 3,
    "left_shoulder": 6, "left_elbow": 7, "left_hand": 8,
    "right_shoulder": 25, "right_elbow": 26, "right_hand": 27,
    "left_hip": 43, "left_knee": 44, "left_ankle": 45, "left_toe": 46,
    "right_hip": 47, "right_knee": 48, "right_ankle": 49, "right_toe": 50,
}  # fmt: skip
JOINTS = 53
DEFAULT_FPS = 120.0


def arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an .npz, never running code."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from None
    except DAMAGED as error:
        raise UserError(f"{path} is not an .npz of plain arrays ({one_line(error)}).") from None


def recording(path: Path, data: dict[str, np.ndarray], fps: float | None = None) -> Recording:
    """The array as key points; `NAME.boxes.json` beside it gives boxes and frame rate."""
    positions = data["joint_positions"]
    if positions.ndim != 3 or positions.shape[1:] != (JOINTS, 3) or positions.dtype.kind != "f":
        raise UserError(
            f"{path}: joint_positions is {positions.dtype} {positions.shape}; "
            f"expected float (T, {JOINTS}, 3)."
        )
    beside = path.with_name(f"{path.stem}.boxes.json")
    blocks, rate = _boxes(beside) if beside.exists() else ((), DEFAULT_FPS)
    points = positions[:, [INDEX[k] for k in KEY_POINTS]].astype(np.float64)
    return checked(Recording(name=path.stem, fps=fps or rate, points=points, blocks=blocks), path)


def _boxes(path: Path) -> tuple[tuple[Block, ...], float]:
    """Boxes (eight corners each) as outline and top."""
    try:
        content = json.loads(path.read_text())
        blocks = []
        for box in content["boxes"]:
            corners = np.asarray(box["corners"], dtype=float)
            if corners.shape != (8, 3) or not np.isfinite(corners).all():
                raise ValueError("a box needs eight finite corners")
            top = corners[corners[:, 2] > corners[:, 2].mean()][:, :2]
            around = np.argsort(np.arctan2(*(top - top.mean(0)).T[::-1]))
            blocks.append(Block(outline=top[around], top=float(corners[:, 2].max())))
        return tuple(blocks), float(content["fps"])
    except DAMAGED as error:
        raise UserError(
            f"{path} does not describe boxes ({type(error).__name__}: {one_line(error)})."
        ) from None

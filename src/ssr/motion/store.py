"""Clips in one compressed file per robot: arrays and JSON only, so that loading never runs code."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import resources
from pathlib import Path

import numpy as np

from ssr import rotation
from ssr.errors import UserError, one_line
from ssr.files import DAMAGED, replacing
from ssr.motion.clip import Clip
from ssr.motion.quality import Quality
from ssr.motion.targets import FPS
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Box

VERSION = 3
ANGLE_STEP = 1e-4  #: rad per unit of the stored joint positions
QUATERNION_STEP = 1.0 / 32767
LENGTH_STEP = 1e-4  #: m per unit of the stored hand and foot positions
PLACE_STEP = 1e-5  #: m per unit of the stored base positions


def shipped(robot: RobotSpec) -> Path:
    """Where the motion that comes with the package lies for `robot`."""
    return Path(str(resources.files("ssr.motion") / "data" / f"{robot.name}.npz"))


def file_name(robot: RobotSpec) -> str:
    return f"motion_{robot.name}.npz"


def of(robot: RobotSpec) -> Path:
    """Where the motion of `robot` is looked for: beside its own description, or in the package."""
    return shipped(robot) if robot.folder is None else robot.folder / file_name(robot)


def save(path: Path, clips: list[Clip], left_out: list[Quality] | None = None) -> None:
    """Write `clips` (same robot) and the report rows of clips that were left out."""
    if not clips:
        raise UserError(f"Nothing to write to {path}: no clip was kept.")
    joints = np.concatenate([c.joint_position for c in clips])
    small = np.abs(joints).max() <= 32767 * ANGLE_STEP
    header = {
        "version": VERSION,
        "fps": FPS,
        "joint_names": clips[0].joint_names,
        "clips": [
            {
                "name": c.name,
                "column": c.column,
                "synthetic": c.synthetic,
                "frames": c.frames,
                "boxes": [[*b.center, *b.half, b.pitch] for b in c.boxes],
                "quality": asdict(c.quality),
            }
            for c in clips
        ],
        "left_out": [asdict(q) for q in left_out or ()],
    }
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(
            file,
            header=np.array(json.dumps(header)),
            base_position=_pack(np.concatenate([c.base_position for c in clips]), PLACE_STEP, np.int32),
            base_quaternion=_pack(
                np.concatenate([c.base_quaternion for c in clips]), QUATERNION_STEP, np.int16
            ),
            joint_position=_pack(joints, ANGLE_STEP, np.int16 if small else np.int32),
            hand_position=_pack(np.concatenate([c.hand_position for c in clips]), LENGTH_STEP, np.int16),
            foot_position=_pack(np.concatenate([c.foot_position for c in clips]), LENGTH_STEP, np.int16),
        )


def load(path: Path) -> tuple[list[Clip], list[Quality]]:
    """The clips of a file and the report rows of what was left out of it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            _check_version(header, path)
            position = _unpack(file["base_position"], PLACE_STEP)
            quaternion = rotation.normalize(_unpack(file["base_quaternion"], QUATERNION_STEP))
            joints = _unpack(file["joint_position"], ANGLE_STEP)
            hands = _unpack(file["hand_position"], LENGTH_STEP).reshape(-1, 2, 3)
            feet = _unpack(file["foot_position"], LENGTH_STEP).reshape(-1, 2, 3)
        clips, start = [], 0
        for entry in header["clips"]:
            rows = slice(start, start + entry["frames"])
            start += entry["frames"]
            clips.append(
                Clip(
                    name=entry["name"],
                    column=entry["column"],
                    synthetic=entry["synthetic"],
                    base_position=position[rows],
                    base_quaternion=quaternion[rows],
                    joint_position=joints[rows],
                    hand_position=hands[rows],
                    foot_position=feet[rows],
                    joint_names=tuple(header["joint_names"]),
                    quality=Quality(**entry["quality"]),
                    boxes=tuple(Box(tuple(b[:3]), tuple(b[3:6]), b[6]) for b in entry["boxes"]),
                )
            )
        if start != len(position):
            raise ValueError("frames do not add up")
        return clips, [Quality(**row) for row in header["left_out"]]
    except FileNotFoundError:
        raise UserError(
            f"No motion file at {path}. Build one with `ssr motion build FOLDER --robot NAME`."
        ) from None
    except DAMAGED as error:
        raise UserError(f"{path} is not a motion file ({type(error).__name__}: {one_line(error)}).") from None


def _check_version(header: dict[str, object], path: Path) -> None:
    if header["version"] != VERSION or header["fps"] != FPS:
        raise UserError(
            f"{path}: motion file version {header['version']} at {header['fps']} fps; this program reads "
            f"version {VERSION} at {FPS:.0f} fps. Build it again with `ssr motion build`."
        )


def _pack(x: np.ndarray, step: float, kind: type[np.signedinteger]) -> np.ndarray:
    """(N, …) as whole steps, channel by channel, differenced twice in time: smooth motion then packs well.

    Integers wrap around, so the way back is exact.
    """
    whole = np.round(x / step).astype(kind).reshape(len(x), -1).T
    zero = np.zeros((len(whole), 1), dtype=kind)
    return np.diff(np.diff(whole, axis=1, prepend=zero), axis=1, prepend=zero)


def _unpack(packed: np.ndarray, step: float) -> np.ndarray:
    """(N, channels) of what `_pack` made."""
    whole = packed.cumsum(1, dtype=packed.dtype).cumsum(1, dtype=packed.dtype)
    return whole.T * step

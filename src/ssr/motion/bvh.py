"""BVH files: hierarchy and channels of any skeleton, and the names that lead from it to our key points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ssr.errors import UserError
from ssr.motion.recording import KEY_POINTS, Recording, checked

MAX_BYTES = 400_000_000
MAX_JOINTS = 500
AXES = {"X": 0, "Y": 1, "Z": 2}
CHANNELS = {f"{axis}{kind}" for axis in "XYZ" for kind in ("position", "rotation")}

#: The CMU recordings in B. Hahne's conversion: one unit is 0.0254 / 0.45 m, y up, the first frame a T-pose.
CMU_JOINTS = {
    "pelvis": "Hips", "neck": "Neck1",
    "right_hip": "RightUpLeg", "right_knee": "RightLeg",
    "right_ankle": "RightFoot", "right_toe": "RightToeBase",
    "left_hip": "LeftUpLeg", "left_knee": "LeftLeg", "left_ankle": "LeftFoot", "left_toe": "LeftToeBase",
    "right_shoulder": "RightArm", "right_elbow": "RightForeArm", "right_hand": "RightHand",
    "left_shoulder": "LeftArm", "left_elbow": "LeftForeArm", "left_hand": "LeftHand",
}  # fmt: skip
CMU_UNIT = 0.0254 / 0.45  #: m


@dataclass(frozen=True, kw_only=True)
class BvhJoint:
    name: str
    parent: int  #: index, -1 for the root
    offset: np.ndarray  #: (3,) file units
    channels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Bvh:
    joints: tuple[BvhJoint, ...]
    frame_time: float  #: s
    values: np.ndarray  #: (T, channels), degrees and file units

    def positions(self) -> np.ndarray:
        """(T, joints, 3) joint positions in file units and axes, by forward kinematics."""
        frames = len(self.values)
        out = np.empty((frames, len(self.joints), 3))
        turns: list[np.ndarray] = []
        column = 0
        for k, joint in enumerate(self.joints):
            shift = np.tile(joint.offset, (frames, 1))
            local = np.tile(np.eye(3), (frames, 1, 1))
            for name in joint.channels:
                axis, kind = AXES[name[0]], name[1:]
                if kind == "position":
                    shift[:, axis] = self.values[:, column]
                else:
                    local = local @ _turn(axis, np.radians(self.values[:, column]))
                column += 1
            if joint.parent < 0:
                out[:, k], turn = shift, local
            else:
                out[:, k] = out[:, joint.parent] + np.einsum("tij,tj->ti", turns[joint.parent], shift)
                turn = turns[joint.parent] @ local
            turns.append(turn)
        return out


def _turn(axis: int, angle: np.ndarray) -> np.ndarray:
    """(T, 3, 3) rotations about one coordinate axis."""
    c, s = np.cos(angle), np.sin(angle)
    out = np.zeros((len(angle), 3, 3))
    out[:, axis, axis] = 1.0
    a, b = (axis + 1) % 3, (axis + 2) % 3
    out[:, a, a], out[:, b, b], out[:, a, b], out[:, b, a] = c, c, -s, s
    return out


def read(path: Path) -> Bvh:
    """Parse a BVH file; everything wrong with it is one clear line."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UserError(f"{path}: {size / 1e6:.0f} MB; expected at most {MAX_BYTES / 1e6:.0f} MB.")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from None
    head, found, tail = text.partition("MOTION")
    if not found:
        raise UserError(f"{path}: no MOTION section. The file is cut off or not a BVH file.")
    joints = _hierarchy(head.split(), path)
    return _motion(tail, joints, path)


def _hierarchy(words: list[str], path: Path) -> tuple[BvhJoint, ...]:
    """The skeleton, read without recursion."""
    bad = lambda why: UserError(f"{path}: broken HIERARCHY: {why}.")
    if not words or words[0] != "HIERARCHY":
        raise bad(f"expected HIERARCHY first, found {words[0][:20]!r}" if words else "it is empty")
    joints: list[BvhJoint] = []
    stack: list[int] = []
    closed = False
    i = 1

    def take(count: int) -> list[str]:
        nonlocal i
        if i + count > len(words):
            raise bad("it ends in the middle of a joint")
        i += count
        return words[i - count : i]

    def number(word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            raise bad(f"expected a number, found {word[:20]!r}") from None
        if not np.isfinite(value):
            raise bad(f"an offset is {word}")
        return value

    while i < len(words):
        (word,) = take(1)
        if word in ("ROOT", "JOINT", "End"):
            if closed or (word == "ROOT") != (not joints):
                raise bad(f"{word} outside the one ROOT")
            (label,) = take(1)
            name = (
                label if word != "End" else f"{joints[stack[-1]].name}/End{len(joints)}" if stack else "End"
            )
            if take(1) != ["{"]:
                raise bad(f"no '{{' after {name[:40]!r}")
            joints.append(
                BvhJoint(name=name, parent=stack[-1] if stack else -1, offset=np.zeros(3), channels=())
            )
            stack.append(len(joints) - 1)
            if len(joints) > MAX_JOINTS:
                raise bad(f"more than {MAX_JOINTS} joints")
        elif word == "OFFSET" and stack:
            offset = np.array([number(w) for w in take(3)])
            joints[stack[-1]] = _with(joints[stack[-1]], offset=offset)
        elif word == "CHANNELS" and stack:
            (count,) = take(1)
            if count not in tuple("0123456"):
                raise bad(f"{joints[stack[-1]].name[:40]!r} has {count[:20]!r} channels; expected 0 to 6")
            channels = tuple(take(int(count)))
            unknown = [c for c in channels if c not in CHANNELS]
            if unknown:
                raise bad(f"unknown channel {unknown[0][:20]!r}")
            joints[stack[-1]] = _with(joints[stack[-1]], channels=channels)
        elif word == "}" and stack:
            stack.pop()
            closed = not stack
        else:
            raise bad(f"unexpected {word[:20]!r}")
    if stack or not joints:
        raise bad("a '}' is missing" if stack else "no ROOT")
    names = [j.name for j in joints]
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise bad(f"the joint {twice[:40]!r} appears twice")
    return tuple(joints)


def _with(joint: BvhJoint, **changes: object) -> BvhJoint:
    return BvhJoint(**{**vars(joint), **changes})


def _motion(text: str, joints: tuple[BvhJoint, ...], path: Path) -> Bvh:
    words = text.split(maxsplit=5)
    bad = lambda why: UserError(f"{path}: broken MOTION: {why}.")
    if len(words) < 5 or words[0] != "Frames:" or words[2:4] != ["Frame", "Time:"]:
        raise bad("expected 'Frames: N' and 'Frame Time: S'")
    try:
        frames, frame_time = int(words[1]), float(words[4])
    except ValueError:
        raise bad(f"Frames {words[1][:20]!r} or Frame Time {words[4][:20]!r} is not a number") from None
    if frames < 1:
        raise bad(f"{frames} frames")
    if not (np.isfinite(frame_time) and 1e-3 <= frame_time <= 0.1):
        raise bad(f"Frame Time is {words[4][:20]} s; expected 0.001 to 0.1 s (10 to 1000 frames per second)")
    width = sum(len(j.channels) for j in joints)
    if width == 0:
        raise bad("no joint has a channel")
    numbers = (words[5] if len(words) > 5 else "").split()
    if len(numbers) != frames * width:
        raise bad(
            f"{len(numbers)} values; expected {frames} frames × {width} channels = {frames * width}. "
            "The file is cut off or its header is wrong"
        )
    try:
        values = np.array(numbers, dtype=np.float64).reshape(frames, width)
    except ValueError:
        raise bad("a value is not a number") from None
    if not np.isfinite(values).all():
        frame, column = np.argwhere(~np.isfinite(values))[0]
        raise bad(f"frame {frame}, channel {column} is {numbers[frame * width + column][:20]}")
    return Bvh(joints=joints, frame_time=frame_time, values=values)


def recording(
    path: Path,
    *,
    joints: dict[str, str] | None = None,
    unit: float | None = None,
    up: str = "y",
    skip: int | None = None,
) -> Recording:
    """A BVH file as key points. Without `joints` it must use the CMU names, whose unit and T-pose are known.

    joints: our key-point name → the file's joint name. unit: metres per file unit. up: "y" or "z".
    skip: frames to leave out at the start.
    """
    bvh = read(path)
    cmu = joints is None
    joints = CMU_JOINTS if joints is None else joints
    names = [j.name for j in bvh.joints]
    absent = [f"{k} ({joints.get(k, 'not in the map')})" for k in KEY_POINTS if joints.get(k) not in names]
    if absent:
        raise UserError(
            f"{path}: no joint for {', '.join(absent[:4])}{' …' if len(absent) > 4 else ''}. The file has: "
            f"{', '.join(n for n in names if '/' not in n)[:300]}. Map them with --joints MAP.json."
        )
    if unit is None:
        unit = CMU_UNIT if cmu else 1.0
    skip = (1 if cmu else 0) if skip is None else skip
    if skip >= len(bvh.values):
        raise UserError(f"{path}: {len(bvh.values)} frames, of which {skip} are skipped: nothing is left.")
    with np.errstate(over="ignore", invalid="ignore"):
        points = bvh.positions()[skip:, [names.index(joints[k]) for k in KEY_POINTS]] * unit
    if up == "y":
        points = points[..., [2, 0, 1]]  # a person facing +z with left at +x then faces +x with left at +y
    return checked(Recording(name=path.stem, fps=1.0 / bvh.frame_time, points=points), path)

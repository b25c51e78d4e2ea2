"""The first draft of a robot's TOML file, written from what was guessed of its model; `# ?` marks guesses."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ssr.robots.guess import Guess, JointGuess
from ssr.robots.spec import CameraMount, Vector

DOUBT = "# ?"  #: at the end of a line that a person must look at
GROUPS = {"hip": "legs", "knee": "legs", "ankle": "legs", "waist": "waist", "shoulder": "arms"}


def draft(name: str, model: Path, folder: Path, guess: Guess) -> str:
    """TOML that `robots.load` takes, for a file in `folder`."""
    text = [
        f"# {name}: what {model.name} means. Written by `ssr robots new`; `{DOUBT}` marks guesses.",
        "# Every field is explained in docs/own-robot.md. `ssr robots THIS_FILE` checks it.",
        "",
        f"name = {_text(name)}",
        f"model = {_text(_relative(model, folder))}",
        "",
        "# Links. Pairs are right, left; right is where y is negative.",
        f"base = {_text(guess.base)}",
        f"torso = {_text(guess.torso)}  # carries the arms",
        f"feet = {_pair(guess.feet)}  # the lowest pair",
        f"shanks = {_pair(guess.shanks)}  # below the knees",
        f"hands = {_pair(guess.hands)}",
        f"hand_offset = {_vector(guess.hand_offset)}  # m, from the right link's origin {DOUBT}",
        "",
        "[camera]",
        f"position = {_vector(guess.camera)}  # in the base's frame, m {DOUBT}",
        f"pitch = {CameraMount().pitch:g}  # degrees down {DOUBT}",
        "",
        "# [sole]: the bottom of the foot's shapes, unless given: center, length, width.",
        "",
        "# Joints in policy order; any other stays locked at 0. default: rad, as the right side has it.",
    ]
    group = ""
    for joint in guess.joints:
        part = GROUPS.get(joint.role.split("_")[0], "arms")
        text += ["", f"# ---- {part}"] if part != group else []
        group = part
        text += ["", *_joint(joint)]
    if guess.locked:
        text += ["", "# Locked:", *_lines(guess.locked)]
    if guess.doubts:
        text += ["", "# Look at:", *(f"#   {doubt}" for doubt in guess.doubts)]
    return "\n".join(text) + "\n"


def _joint(joint: JointGuess) -> list[str]:
    low, high = joint.range
    names = [f"center = {_text(joint.right)}"]
    if joint.right != joint.left:
        names = [f"right = {_text(joint.right)}", f"left = {_text(joint.left)}"]
    doubt = "" if joint.servo else f"  {DOUBT}"
    return [
        "[[joint]]",
        *names,
        f"role = {_text(joint.role)}",
        f"default = {joint.default:g}  # of {low:.2f} to {high:.2f}",
        f"kp = {joint.kp:g}{doubt}",
        f"kd = {joint.kd:g}{doubt}",
        f"action_scale = {joint.action_scale:g}",
        *(f"{key} = {value:g}  {DOUBT} the model has none" for key, value in joint.limits.items()),
    ]


def _relative(model: Path, folder: Path) -> str:
    return Path(os.path.relpath(model, folder)).as_posix()


def _text(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)


def _pair(names: tuple[str, str]) -> str:
    return f"[{_text(names[0])}, {_text(names[1])}]"


def _vector(vector: Vector) -> str:
    return f"[{', '.join(repr(float(x)) for x in vector)}]"


def _lines(names: Sequence[str]) -> list[str]:
    """Names in comment lines of three."""
    return [f"#   {', '.join(names[k : k + 3])}" for k in range(0, len(names), 3)]

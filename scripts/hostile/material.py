"""One of everything the project reads: a small run with all its files, exported, a robot and a recipe."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ssr.export.policy import export
from ssr.learning import presets, runner
from ssr.learning.config import TrainConfig

ROBOT = """model = "biped.xml"
base = "pelvis"
torso = "pelvis"
feet = ["right_foot", "left_foot"]
shanks = ["right_shank", "left_shank"]
hands = ["right_shank", "left_shank"]
[defaults]
kp = 100.0
kd = 3.0
max_torque = 80.0
max_velocity = 12.0
[[joint]]
right = "right_hip"
left = "left_hip"
default = 0.0
[[joint]]
right = "right_knee"
left = "left_knee"
[[joint]]
right = "right_ankle"
left = "left_ankle"
[camera]
position = [0.1, 0.0, 0.05]
pitch = 50.0
"""


@dataclass(frozen=True, kw_only=True)
class Material:
    folder: Path
    run: Path  #: two iterations of training, exported
    robot: Path
    recipe: str
    config: TrainConfig


#: The smallest training that has every part.
TINY: dict[str, Any] = {
    "env.num_envs": 2, "run.snapshot_iterations": 1, "run.checkpoint_minutes": 0.0, "ppo.steps": 4,
    "ppo.epochs": 1, "ppo.minibatches": 1, "encoder.minibatches": 1, "imagination.capacity": 500,
    "imagination.batch_size": 32, "style.replay": 200, "style.updates": 1, "style.batch_size": 8,
    "network.expert_hidden": (16,), "network.critic_hidden": (16,), "network.discriminator_hidden": (16,),
    "network.encoder_hidden": (16,), "network.gru_hidden": 16, "network.proprioception_embedding": 16,
    "network.cnn_channels": (4, 4, 8), "network.gate_hidden": (8,), "network.imagination_hidden": (16,),
    "task.reference_starts": 0.0, "ranks": 1, "device": "cpu",
}  # fmt: skip


def tiny(seed: int) -> TrainConfig:
    config = presets.preset("smoke")
    for setting, value in (TINY | {"seed": seed, "run.iterations": 2}).items():
        config = presets.with_setting(config, setting, value)
    return config


def recipe_text(seed: int) -> str:
    """A recipe of two stages of one iteration each, the encoder alone in the second."""
    steps = TINY["env.num_envs"] * TINY["ppo.steps"]
    differences = [
        f'[[differences]]\nsetting = "{setting}"\nvalue = {json.dumps(value)}\nreason = "tiny"'
        for setting, value in TINY.items()
    ]
    frozen = 'frozen = ["actor", "critics", "discriminators", "imagination"]\nfresh_moments = true'
    stages = [
        f'[[stage]]\nname = "{name}"\nabout = "{name}"\nsteps = {steps}\n{more}'
        for name, more in (("walk", ""), ("sight", frozen))
    ]
    return "\n".join([f'about = "seconds"\npreset = "smoke"\nseed = {seed}', *differences, *stages, ""])


def make(folder: Path) -> Material:
    config, run = tiny(1), folder / "run"
    runner.start(run, config)
    export(run)
    robot = folder / "robot.toml"
    robot.write_text(ROBOT)
    (folder / "biped.xml").write_text(biped())
    recipe = (files("ssr.learning") / "recipes" / "smoke.toml").read_text()
    return Material(folder=folder, run=run, robot=robot, recipe=recipe, config=config)


def biped() -> str:
    """Two legs of three joints each."""

    def leg(side: str, y: float) -> str:
        hinge = lambda name: f'<joint name="{side}_{name}" type="hinge" axis="0 1 0" range="-1.5 1.5"/>'
        limb = '<geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.3" mass="2"/>'
        return (
            f'<body name="{side}_thigh" pos="0 {y} 0">{hinge("hip")}{limb}'
            f'<body name="{side}_shank" pos="0 0 -0.3">{hinge("knee")}{limb}'
            f'<body name="{side}_foot" pos="0 0 -0.3">{hinge("ankle")}'
            '<geom type="box" size="0.1 0.05 0.02" pos="0.03 0 -0.05" mass="1"/></body></body></body>'
        )

    return (
        '<mujoco><compiler angle="radian"/><worldbody><body name="pelvis" pos="0 0 1"><freejoint/>'
        '<geom type="box" size="0.1 0.15 0.1" mass="10"/>'
        f"{leg('right', -0.12)}{leg('left', 0.12)}</body></worldbody></mujoco>"
    )


def urdf() -> str:
    """The same legs."""
    inertia = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'

    def link(name: str, mass: float, shape: str) -> str:
        body = f"<collision>{shape}</collision>"
        return f'<link name="{name}"><inertial><mass value="{mass}"/>{inertia}</inertial>{body}</link>'

    def joint(name: str, parent: str, child: str, place: str) -> str:
        ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{place}"/><axis xyz="0 1 0"/>'
        limit = '<limit lower="-1.5" upper="1.5" effort="80" velocity="12"/>'
        return f'<joint name="{name}" type="revolute">{ends}{limit}</joint>'

    limb = '<geometry><box size="0.08 0.08 0.28"/></geometry>'
    foot = '<origin xyz="0.03 0 -0.05"/><geometry><box size="0.2 0.1 0.04"/></geometry>'
    parts = [link("pelvis", 10.0, '<geometry><box size="0.2 0.3 0.2"/></geometry>')]
    for side, y in (("right", -0.12), ("left", 0.12)):
        names = [f"{side}_{part}" for part in ("thigh", "shank", "foot")]
        parts += [link(n, 2.0, foot if n.endswith("foot") else limb) for n in names]
        places = (f"0 {y} 0", "0 0 -0.3", "0 0 -0.3")
        for hinge, parent, child, place in zip(
            ("hip", "knee", "ankle"), ("pelvis", *names), names, places, strict=False
        ):
            parts.append(joint(f"{side}_{hinge}", parent, child, place))
    return f'<?xml version="1.0"?><robot name="biped">{"".join(parts)}</robot>'


#: A person who stands, in metres: x ahead, y to the left, z up.
PERSON = {"pelvis": (0.0, 0.0, 0.95), "neck": (0.0, 0.0, 1.45)} | {
    f"{side}_{name}": (x, sign * y, z)
    for side, sign in (("right", -1), ("left", 1))
    for name, x, y, z in (
        ("hip", 0.0, 0.1, 0.9), ("knee", 0.02, 0.1, 0.48), ("ankle", 0.0, 0.1, 0.08),
        ("toe", 0.15, 0.1, 0.02), ("shoulder", 0.0, 0.2, 1.4),
        ("elbow", 0.0, 0.25, 1.1), ("hand", 0.05, 0.25, 0.85),
    )
}  # fmt: skip
JOINT_MAP = {name: name.title().replace("_", "") for name in PERSON}


def walking(frames: int = 90) -> dict[str, np.ndarray]:
    """(frames, 3) of each key point: they sway."""
    sway = 0.02 * np.sin(np.linspace(0.0, 6.0, frames))[:, None] * np.array([1.0, 0.5, 0.0])
    return {name: np.array(place) + sway for name, place in PERSON.items()}


def bvh() -> str:
    """Every joint hangs on the hips and carries its own position; y is up."""
    turned = lambda points: points[:, [1, 2, 0]]
    others = [name for name in PERSON if name != "pelvis"]
    lines = ["HIERARCHY", f"ROOT {JOINT_MAP['pelvis']}", "{", "OFFSET 0 0 0"]
    lines.append("CHANNELS 3 Xposition Yposition Zposition")
    for name in others:
        lines += [f"JOINT {JOINT_MAP[name]}", "{", "OFFSET 0 0 0"]
        lines += ["CHANNELS 3 Xposition Yposition Zposition", "End Site", "{", "OFFSET 0 0 1", "}", "}"]
    points = walking()
    columns = [turned(points["pelvis"])] + [turned(points[name] - points["pelvis"]) for name in others]
    rows = [" ".join(f"{v:.5f}" for v in row) for row in np.concatenate(columns, axis=1)]
    return "\n".join([*lines, "}", "MOTION", f"Frames: {len(rows)}", "Frame Time: 0.008333", *rows, ""])

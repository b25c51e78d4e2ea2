"""One of everything the project reads: a small run with all its files, exported, a robot and a recipe."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

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


def tiny(seed: int) -> TrainConfig:
    """The smallest training that has every part."""
    config = presets.preset("smoke")
    changes = {
        "seed": seed, "env.num_envs": 2, "run.iterations": 2, "run.snapshot_iterations": 1,
        "run.checkpoint_minutes": 0.0, "ppo.steps": 4, "ppo.epochs": 1, "ppo.minibatches": 1,
        "encoder.minibatches": 1, "imagination.capacity": 500, "imagination.batch_size": 32,
        "style.replay": 200, "style.updates": 1, "style.batch_size": 8, "network.expert_hidden": (16,),
        "network.critic_hidden": (16,), "network.discriminator_hidden": (16,),
        "network.encoder_hidden": (16,), "network.gru_hidden": 16, "network.proprioception_embedding": 16,
        "network.cnn_channels": (4, 4, 8),
        "network.gate_hidden": (8,), "network.imagination_hidden": (16,), "task.reference_starts": 0.0,
    }  # fmt: skip
    for setting, value in changes.items():
        config = presets.with_setting(config, setting, value)
    return replace(config, ranks=1, device="cpu")


def make(folder: Path) -> Material:
    config, run = tiny(1), folder / "run"
    runner.start(run, config)
    export(run)
    robot = folder / "robot.toml"
    robot.write_text(ROBOT)
    (folder / "biped.xml").write_text(biped())
    recipe = (files("ssr.learning") / "recipes" / "smoke.toml").read_text()
    (folder / "joints.json").write_text(json.dumps({"hips": "Hips"}))
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

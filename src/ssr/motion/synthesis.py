"""Planned motion for what recordings lack; every clip is marked as synthetic."""

from __future__ import annotations

import mujoco
import numpy as np

from ssr.motion.clip import Clip
from ssr.motion.curves import follow
from ssr.motion.footsteps import Foothold, Plan, ground_width, walk
from ssr.motion.limbs import SIDES, Limbs
from ssr.motion.quality import judge
from ssr.motion.solver import Solver


def perform(solver: Solver, plan: Plan) -> Clip:
    """The robot doing `plan`."""
    targets = follow(plan, solver.limbs, base_over_soles(solver))
    q = solver.solve(targets)
    return Clip(
        name=plan.name,
        column=plan.column,  # type: ignore[arg-type]
        synthetic=True,
        base_position=q[:, :3],
        base_quaternion=q[:, 3:7],
        joint_position=q[:, solver.addresses],
        joint_names=solver.robot.joint_names,
        quality=judge(plan.name, solver, targets, q),
        boxes=plan.boxes,
    )


def base_over_soles(solver: Solver) -> float:
    """How far the base stands ahead of the sole centres when the centre of mass is over them, m."""
    data = mujoco.MjData(solver.model)
    data.qpos[:] = solver.default_configuration()
    mujoco.mj_kinematics(solver.model, data)
    mujoco.mj_comPos(solver.model, data)
    sole = np.mean([data.site(f"{s}_sole").xpos[0] for s in SIDES])
    default = float(data.qpos[0] - sole)
    balanced = float(data.qpos[0] - data.subtree_com[0][0])
    # The default pose is how the robot was built to stand; meet the balanced pose halfway.
    return 0.5 * (default + balanced)


def flat_plans(limbs: Limbs) -> list[Plan]:
    """Walking at exact speeds forwards and backwards, turning, side steps and standing."""
    plans: list[Plan] = []
    rng = np.random.default_rng(5)
    for k, speed in enumerate((0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)):
        plans.append(
            walk(
                f"walk_{speed:.1f}",
                "forward",
                limbs,
                velocity=_ramp(speed, 0.0, 0.0, 9.0),
                duration=9.0,
                first_side=k % 2,
                rng=rng,
                stride_noise=0.01,
                lean=0.02 + 0.04 * speed,
                roll_lift=0.15 + 0.15 * speed,
            )  # fmt: skip
        )
    for k, speed in enumerate((0.2, 0.35, 0.5, 0.65, 0.8)):
        plans.append(
            walk(
                f"back_{speed:.2f}",
                "backward",
                limbs,
                velocity=_ramp(-speed, 0.0, 0.0, 8.0),
                duration=8.0,
                first_side=k % 2,
                rng=rng,
                stride_noise=0.01,
                lean=0.02,
                roll_land=0.15,
                roll_lift=0.0,
                clearance=0.04,
            )  # fmt: skip
        )
    for k, (speed, rate) in enumerate(
        ((0.0, 0.6), (0.0, 1.0), (0.3, 0.8), (0.5, 0.5), (0.7, 0.4), (0.9, 0.6))
    ):
        plans.append(
            walk(
                f"turn_{speed:.1f}_{rate:.1f}",
                "turn",
                limbs,
                velocity=_ramp(speed, 0.0, rate, 9.0),
                duration=9.0,
                first_side=k % 2,
                rng=rng,
                stride_noise=0.005,
                roll_lift=0.10 + 0.15 * speed,
                roll_land=-0.12 * speed,
            )  # fmt: skip
        )
    for k, (speed, side) in enumerate(((0.0, 0.2), (0.0, 0.35), (0.4, 0.2))):
        plans.append(
            walk(
                f"sidle_{speed:.1f}_{side:.2f}",
                "turn",
                limbs,
                velocity=_ramp(speed, side, 0.0, 6.0),
                duration=6.0,
                first_side=1 - k % 2,
                rng=rng,
                roll_lift=0.08,
                roll_land=0.0,
            )  # fmt: skip
        )
    plans.append(stand(limbs, 8.0))
    return plans


def stand(limbs: Limbs, seconds: float) -> Plan:
    half = 0.5 * ground_width(limbs)
    feet = (Foothold(x=0.0, y=-half), Foothold(x=0.0, y=half))
    return Plan(name="stand", column="stand", duration=seconds, start=feet, steps=(), arm_swing=0.0, lean=0.0)


def _ramp(speed: float, side: float, rate: float, duration: float):  # type: ignore[no-untyped-def]
    """Body velocity of time: up within a second, steady, down within a second."""

    def velocity(t: float) -> tuple[float, float, float]:
        share = float(np.clip(min(t - 0.2, duration - 0.2 - t), 0.0, 1.0))
        return speed * share, side * share, rate * share

    return velocity

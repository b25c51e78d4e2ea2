"""A recording becomes a clip of the robot."""

from __future__ import annotations

from collections.abc import Callable

from ssr.motion.clip import Clip, Column
from ssr.motion.footing import Ground
from ssr.motion.quality import judge
from ssr.motion.recording import Recording, at_control_rate
from ssr.motion.scaling import scaled
from ssr.motion.solver import Solver


def retarget(
    solver: Solver,
    recording: Recording,
    *,
    column: Column = "forward",
    ground: Ground = "auto",
    progress: Callable[[int], None] = lambda frame: None,
) -> Clip:
    """The robot of `solver` doing what `recording` shows."""
    targets = scaled(at_control_rate(recording), solver.limbs, ground)
    q = solver.solve(targets, progress)
    return Clip(
        name=recording.name,
        column=column,
        synthetic=False,
        base_position=q[:, :3],
        base_quaternion=q[:, 3:7],
        joint_position=q[:, solver.addresses],
        joint_names=solver.robot.joint_names,
        quality=judge(recording.name, solver, targets, q),
        boxes=targets.boxes,
    )

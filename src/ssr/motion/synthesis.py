"""Planned motion for what recordings lack; every clip is marked as synthetic."""

from __future__ import annotations

import mujoco
import numpy as np

from ssr.motion.clip import Clip, make_clip
from ssr.motion.curves import follow
from ssr.motion.flat_plans import flat_plans
from ssr.motion.footsteps import Plan
from ssr.motion.limbs import SIDES, Limbs
from ssr.motion.quality import judge
from ssr.motion.retarget import solve_well
from ssr.motion.solver import Solver
from ssr.motion.terrain_plans import terrain_plans


def perform(solver: Solver, plan: Plan) -> Clip:
    """The robot doing `plan`."""
    targets = follow(plan, solver.limbs, base_over_soles(solver))
    q = solve_well(solver, targets)
    return make_clip(
        solver.kinematics,
        q,
        name=plan.name,
        column=plan.column,  # type: ignore[arg-type]
        synthetic=True,
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


def plans(limbs: Limbs) -> list[Plan]:
    """Everything that is planned for a robot of these proportions."""
    return [*flat_plans(limbs), *terrain_plans(limbs)]

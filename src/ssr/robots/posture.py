"""What a built robot measures in a given posture."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ssr.robots.spec import Joint


def stand(spec: mujoco.MjSpec, joints: Sequence[Joint]) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The compiled robot alone, base origin at z = 0, in its default pose; positions are up to date."""
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    data.qpos[:7] = (0, 0, 0, 1, 0, 0, 0)
    for joint in joints:
        data.joint(joint.name).qpos[0] = joint.default
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return model, data


def sole_drop(spec: mujoco.MjSpec, joints: Sequence[Joint]) -> float:
    """How far the soles' centres lie below the base origin in the default pose, in metres."""
    _, data = stand(spec, joints)
    return -float(np.mean([data.site(f"{side}_sole").xpos[2] for side in ("right", "left")]))

"""The MuJoCo model of one world: a robot, a pool of terrain boxes and the sensors the task reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import mujoco

from ssr.physics.loose import add_loose
from ssr.physics.mujoco_dynamics import change_model
from ssr.physics.simulator import Dynamics
from ssr.ranges import Within, settings
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import LooseBox, Tile

TERRAIN_COLOR = (0.68, 0.71, 0.74, 1.0)
GRASS_COLOR = (0.36, 0.58, 0.25, 1.0)
NET_FORCE = 3  #: the contact sensor's reduction that sums forces in world axes
TERRAIN = "terrain_"  #: how the names of boxes begin
PARKED = (0.0, 0.0, -100.0)  #: where unused boxes of the pool wait


@settings("physics")
class PhysicsConfig:
    engine: str = "auto"  #: one of `ssr.physics.engines.ENGINES`, or auto: the one for the device
    timestep: Annotated[float, Within(1e-4, 0.02)] = 0.005  #: s, 200 Hz
    iterations: Annotated[int, Within(1, 1000)] = 8
    line_search_iterations: Annotated[int, Within(1, 1000)] = 20
    """Few worlds need so many; after 5 and 8 some stop early, in each engine elsewhere (docs/gpu.md)."""
    arena_megabytes: Annotated[float, Within(0.1, 1024.0)] = 0.5
    """Per world of the mujoco engine; MuJoCo's default would be 14.7."""
    contacts: Annotated[int, Within(1, 1000)] = 24
    """Per world of the warp engine, on average; a robot that thrashes on the ground has 14."""
    constraints: Annotated[int, Within(1, 10_000)] = 128
    """Per world of the warp engine; a robot that thrashes has 77."""


def terrain_name(index: int) -> str:
    return f"{TERRAIN}{index}"


def randomize(model: mujoco.MjModel, dynamics: Dynamics) -> None:
    """Give the one robot of a model, still as built, the bodies and the friction that were drawn for it; its
    drives are up to whoever controls them."""
    change_model(model, dynamics)
    for geom in map(model.geom, range(model.ngeom)):
        if geom.name.startswith(TERRAIN):
            geom.friction[0] = float(dynamics.friction[0])
    mujoco.mj_setConst(model, mujoco.MjData(model))


def build_world(
    robot: RobotSpec, pool: int, config: PhysicsConfig | None = None, loose: Sequence[LooseBox] = ()
) -> mujoco.MjSpec:
    """The robot over `pool` boxes, all parked, and loose bodies. The boxes' friction wins over the robot's
    (priority)."""
    config = config or PhysicsConfig()
    spec = robot.build()
    option = spec.option
    option.timestep = config.timestep
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.iterations = config.iterations
    option.ls_iterations = config.line_search_iterations
    option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    # Boxes move between tiles: mid-phase bounds would go stale. A bad world must stay visibly bad.
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE | mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.memory = int(config.arena_megabytes * 2**20)
    for index in range(pool):
        spec.worldbody.add_geom(
            name=terrain_name(index),
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=PARKED,
            size=(0.01, 0.01, 0.01),
            contype=1,
            conaffinity=0,
            condim=3,
            priority=1,
            rgba=TERRAIN_COLOR,
        )
    for side in ("right", "left"):
        spec.add_sensor(
            name=f"{side}_foot_velocity",
            type=mujoco.mjtSensor.mjSENS_FRAMELINVEL,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname=f"{side}_sole",
        )
        _add_contact_force(spec, f"{side}_foot_force", mujoco.mjtObj.mjOBJ_GEOM, f"{side}_foot")
    for name, body in (("base_force", robot.base_link), ("torso_force", robot.torso_link)):
        _add_contact_force(spec, name, mujoco.mjtObj.mjOBJ_BODY, body)
    add_loose(spec, loose)
    return spec


def _add_contact_force(spec: mujoco.MjSpec, name: str, kind: mujoco.mjtObj, target: str) -> None:
    """A sensor of the net contact force on a geom or body, world axes."""
    spec.add_sensor(
        name=name,
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=kind,
        objname=target,
        intprm=[1 << mujoco.mjtConDataField.mjCONDATA_FORCE.value, NET_FORCE, 1],
    )


def show_tile(spec: mujoco.MjSpec, tile: Tile) -> None:
    """Put a tile's boxes straight into a spec, for pictures and single-world simulation, and what nothing
    touches besides."""
    for box in tile.sights:
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=box.center,
            size=box.half,
            quat=box.quaternion,
            contype=0,
            conaffinity=0,
            rgba=GRASS_COLOR,
        )
    for index, box in enumerate(tile.boxes):
        geom = spec.geom(terrain_name(index))
        geom.pos = box.center
        geom.size = box.half
        geom.quat = box.quaternion
        if box.friction is not None:
            geom.friction[0] = box.friction

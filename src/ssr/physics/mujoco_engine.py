"""The CPU engine: `mujoco.batch.Batch`, per-world terrain boxes and per-world dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from numba import njit
from torch import Tensor

from ssr.physics import mujoco_dynamics
from ssr.physics.loose import loose_name, loose_shapes, poses_of
from ssr.physics.mujoco_dynamics import Bodies, Drawn, Drives
from ssr.physics.mujoco_readout import MujocoReadout, addresses_of
from ssr.physics.readout import PhysicsState, Reading
from ssr.physics.simulator import Dynamics, ResetPose
from ssr.physics.world import PARKED, PhysicsConfig, build_world, terrain_name
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import LooseBox, Tile

STAGE = mujoco.mjtStage.mjSTAGE_VEL.value  #: makes positions, velocities and their sensors current
DYNAMICS_FIELDS = ("body_mass", "body_inertia", "body_ipos", "actuator_gainprm", "actuator_biasprm")
TERRAIN_FIELDS = ("geom_pos", "geom_quat", "geom_size", "geom_rbound", "geom_aabb", "geom_friction")
REACH = 0.9  #: m along the tile from the base: boxes farther off take no part in collision

# A world that goes bad is reported through `PhysicsState.finite`, not in a log file in the working folder.
mujoco.set_mju_user_warning(lambda message: None)


class MujocoSimulator:
    """n worlds of one robot on CPU threads; bit-identical at any thread count."""

    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        *,
        pool: int,
        config: PhysicsConfig | None = None,
        threads: int = 0,
        dtype: torch.dtype = torch.float32,
        loose: Sequence[LooseBox] = (),
    ) -> None:
        self.robot, self.num_envs, self.pool, self.dtype = robot, num_envs, pool, dtype
        self.loose = tuple(loose)
        self.model = build_world(robot, pool, config, self.loose).compile()
        # Parked boxes are upright, so MuJoCo would take their orientation from the world for good.
        self.model.geom_sameframe[self.model.geom_bodyid == 0] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE.value
        self.batch = Batch(self.model, num_envs, nthread=threads, persistent=True)
        self._untouched = self.batch.state[0].copy()  #: the model's defaults
        self._name_everything()
        expand = self.batch.expand
        for field in DYNAMICS_FIELDS + TERRAIN_FIELDS:
            expand(field)
        own = 1 + len(self.body_names)
        self._built = Bodies(*(getattr(self.model, field)[:own] for field in Bodies._fields))
        self._bodies = Bodies(*map(expand, Bodies._fields))
        self._drives = Drives(
            actuator=self._at.actuator,
            kp=robot.values("kp"),
            kd=robot.values("kd"),
            gainprm=expand("actuator_gainprm"),
            biasprm=expand("actuator_biasprm"),
        )
        self._solid = expand("geom_contype")
        self._awake: np.ndarray | None = None  #: indices of the worlds that move; None: all
        self._box_range = np.zeros((num_envs, pool, 2))  #: x from, to of each world's boxes
        self._box_friction = np.full((num_envs, pool), np.nan)  #: of boxes that have their own
        self._loose_poses = np.repeat(poses_of(self.loose)[None], num_envs, axis=0)  #: at first
        bind = self.batch.bind
        self.qpos, self.qvel, self.ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self._outputs = {name: _alias(bind(name)) for name in ("xpos", "xquat")}
        self.readout = MujocoReadout(bind, self._at, dtype)

    def _name_everything(self) -> None:
        """Resolve names to indices once; nothing later relies on an order in the model."""
        model, robot = self.model, self.robot
        self._at = addresses_of(model, robot)
        bodies = [model.body(i) for i in range(1, model.nbody - len(self.loose))]
        self.body_names = tuple(b.name for b in bodies)
        if self.body_names[0] != robot.base_link:
            raise ValueError(
                f"{robot.name}: the base link must be the first body, got {self.body_names[0]!r}"
            )
        self.body_mirror = _body_mirror(model, robot, len(self.loose))
        shapes = (*robot.shapes, *loose_shapes(self.loose))
        self.link_names = tuple(dict.fromkeys(s.link for s in shapes))
        self._links = torch.tensor([model.body(name).id for name in self.link_names])
        self._terrain = np.array([model.geom(terrain_name(i)).id for i in range(self.pool)], dtype=np.intp)
        gripped = [i for i, item in enumerate(self.loose) if item.box.friction is None]
        self._loose_tops = np.array([model.geom(loose_name(i)).id for i in gripped], dtype=np.intp)

    def step(self, targets: Tensor, substeps: int) -> None:
        self.hold(targets)
        if not self.loose:  # which lie on ground near and far
            _open_near_boxes(self.qpos, self._box_range, self._terrain, self._solid)
        self.advance(substeps)

    def hold(self, targets: Tensor) -> None:
        self.ctrl[:, self._at.actuator] = targets.numpy()

    def targets(self) -> Tensor:
        return torch.from_numpy(self.ctrl[:, self._at.actuator])

    def advance(self, substeps: int) -> None:
        try:
            self.batch.step(self._awake, nstep=substeps, stage=STAGE)
        except SimulationError as error:
            # MuJoCo kept these worlds' states; mark them so that `finite` reports them.
            self.qpos[error.ids] = np.nan

    def rest(self, env_ids: Tensor) -> None:
        moving = np.ones(self.num_envs, dtype=bool)
        moving[env_ids.numpy()] = False
        self._awake = np.flatnonzero(moving).astype(np.int32)

    def state(self) -> PhysicsState:
        self.read()
        return self.readout.copy()

    def read(self, env_ids: Tensor | None = None) -> Reading:
        return self.readout.renew(None if env_ids is None else env_ids.numpy())

    def link_poses(self) -> tuple[Tensor, Tensor]:
        position = self._outputs["xpos"][:, self._links].to(self.dtype)
        return position, self._outputs["xquat"][:, self._links].to(self.dtype)

    def configurations(self, env_ids: Tensor) -> Tensor:
        return torch.from_numpy(self.qpos[env_ids.numpy()])

    def reset(self, env_ids: Tensor, pose: ResetPose) -> None:
        ids = env_ids.numpy()
        self.batch.state[ids] = self._untouched  # a third of the time of Batch.reset
        self.qpos[ids, :3] = pose.base_position.numpy()
        self.qpos[ids, 3:7] = pose.base_quaternion.numpy()
        self.qvel[ids, :3] = pose.base_velocity.numpy()
        self.qvel[ids, 3:6] = pose.base_angular_velocity.numpy()
        joints = pose.joint_position.numpy()
        self.qpos[ids[:, None], self._at.joint_qpos] = joints
        self.qvel[ids[:, None], self._at.joint_qvel] = pose.joint_velocity.numpy()
        self.ctrl[ids[:, None], self._at.actuator] = joints
        if self.loose:
            self.qpos[ids, -7 * len(self.loose) :] = self._loose_poses[ids].reshape(len(ids), -1)
        self.batch.forward(ids, stage=STAGE)

    def place(self, env_ids: Tensor, tiles: Sequence[Tile]) -> None:
        expand = self.batch.expand
        for world, tile in zip(env_ids.tolist(), tiles, strict=True):
            fields = BoxFields(
                position=expand("geom_pos")[world],
                quaternion=expand("geom_quat")[world],
                size=expand("geom_size")[world],
                radius=expand("geom_rbound")[world],
                bounds=expand("geom_aabb")[world],
                box_range=self._box_range[world],
            )
            _lay(tile.rows(self.pool), len(tile.boxes), self._terrain, tuple(fields))
            self._box_friction[world] = np.nan
            for index, friction in tile.frictions:
                self._box_friction[world, index] = friction
            if self.loose:
                self._loose_poses[world] = poses_of(tile.loose)

    def randomize(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        ids, expand = env_ids.numpy(), self.batch.expand
        drawn = Drawn.of(dynamics)
        mujoco_dynamics.change(ids, drawn, self._built, self._bodies, self._drives)
        own, drawn_friction = self._box_friction[ids], drawn.friction[:, None]
        expand("geom_friction")[ids[:, None], self._terrain[None], 0] = np.where(
            np.isnan(own), drawn_friction, own
        )
        expand("geom_friction")[ids[:, None], self._loose_tops[None], 0] = drawn_friction
        self.batch.set_const(ids)

    def push(self, env_ids: Tensor, velocity: Tensor) -> None:
        self.qvel[env_ids.numpy(), :3] += velocity.numpy()

    def snapshot(self, env_ids: Tensor | None = None) -> Tensor:
        state = self.batch.state
        return torch.from_numpy(state.copy() if env_ids is None else state[env_ids.numpy()])

    def restore(self, snapshot: Tensor, env_ids: Tensor | None = None) -> None:
        self.batch.state[slice(None) if env_ids is None else env_ids.numpy()] = snapshot.numpy()

    def state_dict(self) -> dict[str, Tensor]:
        fields = {f"model.{f}": self.batch.expand(f) for f in DYNAMICS_FIELDS + TERRAIN_FIELDS}
        fields["box_range"] = self._box_range
        return {k: torch.from_numpy(np.array(v)) for k, v in {"state": self.batch.state, **fields}.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for field in DYNAMICS_FIELDS + TERRAIN_FIELDS:
            self.batch.expand(field)[:] = state[f"model.{field}"].numpy()
        self._box_range[:] = state["box_range"].numpy()
        self.batch.set_const()
        self.batch.state[:] = state["state"].numpy()
        self.batch.forward(stage=STAGE)


@njit(cache=True, nogil=True)
def _open_near_boxes(qpos, box_range, terrain, solid):
    """Wide boxes defeat bounding spheres; leaving far ones out makes stairs a third cheaper."""
    for i in range(len(qpos)):
        x = qpos[i, 0]
        for b in range(len(terrain)):
            solid[i, terrain[b]] = box_range[i, b, 0] < x + REACH and box_range[i, b, 1] > x - REACH


class BoxFields(NamedTuple):
    """One world's geom fields that a tile decides, and how far its boxes reach."""

    position: np.ndarray  #: (ngeom, 3)
    quaternion: np.ndarray  #: (ngeom, 4)
    size: np.ndarray  #: (ngeom, 3)
    radius: np.ndarray  #: (ngeom,) of the bounding sphere
    bounds: np.ndarray  #: (ngeom, 6) centre and half extents of the bounding box
    box_range: np.ndarray  #: (pool, 2) x from, to


@njit(cache=True, nogil=True)
def _lay(rows, used, terrain, fields):
    """Write a tile's box rows (pool, 8) into one world's geoms; the rows from `used` on are parked."""
    into = BoxFields(*fields)
    position, quaternion, size = into.position, into.quaternion, into.size
    radius, bounds, box_range = into.radius, into.bounds, into.box_range
    for b in range(len(rows)):
        geom, half, pitch, yaw = terrain[b], rows[b, 3:6], rows[b, 6], rows[b, 7]
        position[geom] = rows[b, 0:3]
        if b >= used:
            position[geom] = PARKED
        cz, sz, cy, sy = np.cos(yaw / 2), np.sin(yaw / 2), np.cos(pitch / 2), np.sin(pitch / 2)
        quaternion[geom] = (cz * cy, 0.0 - sz * sy, cz * sy, sz * cy)
        size[geom] = half
        radius[geom] = np.sqrt(half[0] ** 2 + half[1] ** 2 + half[2] ** 2)
        bounds[geom, 0:3] = 0.0
        bounds[geom, 3:6] = half
        reach = half[0] if pitch == 0.0 else half[0] + half[2]
        reach = abs(np.cos(yaw)) * reach + abs(np.sin(yaw)) * half[1]
        box_range[b, 0] = rows[b, 0] - reach
        box_range[b, 1] = rows[b, 0] + reach


def _body_mirror(model: mujoco.MjModel, robot: RobotSpec, loose: int) -> tuple[int, ...]:
    """Body i's partner in the mirror, counted from the base: the body its joint's partner moves."""
    partner = list(range(model.nbody - 1 - loose))
    for joint in robot.joints:
        body = int(model.joint(joint.name).bodyid[0])
        partner[body - 1] = int(model.joint(joint.mirror_name).bodyid[0]) - 1
    return tuple(partner)


def _alias(array: np.ndarray) -> torch.Tensor:
    """A tensor over MuJoCo's output memory, which is only ever read: torch warns about read-only arrays."""
    interface = dict(array.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder = type("Output", (), {"__array_interface__": interface, "source": array})()
    return torch.from_numpy(np.asarray(holder))

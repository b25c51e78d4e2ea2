"""The CPU engine: `mujoco.batch.Batch`, per-world terrain boxes and per-world dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from numba import njit
from torch import Tensor

from ssr.physics.readout import Addresses, Reading, Readout
from ssr.physics.simulator import Dynamics, PhysicsState, ResetPose
from ssr.physics.world import PARKED, PhysicsConfig, build_world, terrain_name
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Tile

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
    ) -> None:
        self.robot, self.num_envs, self.pool, self.dtype = robot, num_envs, pool, dtype
        self.model = build_world(robot, pool, config).compile()
        # Parked boxes are upright, so MuJoCo would take their orientation from the world for good.
        self.model.geom_sameframe[self.model.geom_bodyid == 0] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE.value
        self.batch = Batch(self.model, num_envs, nthread=threads, persistent=True)
        self._untouched = self.batch.state[0].copy()  #: the model's defaults
        self._name_everything()
        for field in DYNAMICS_FIELDS + TERRAIN_FIELDS:
            self.batch.expand(field)
        self._solid = self.batch.expand("geom_contype")
        self.awake: np.ndarray | None = None  #: indices of the worlds that move; None: all
        self._box_range = np.zeros((num_envs, pool, 2))  #: x from, to of each world's boxes
        bind = self.batch.bind
        self.qpos, self.qvel, self.ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self._outputs = {name: _alias(bind(name)) for name in ("xpos", "xquat")}
        read = ("qpos", "qvel", "sensordata", "site_xpos", "site_xmat", "actuator_force")
        self.readout = Readout({name: bind(name) for name in read}, self._addresses(), robot.sole, dtype)

    def _name_everything(self) -> None:
        """Resolve names to indices once; nothing later relies on an order in the model."""
        model, robot = self.model, self.robot
        joints = [model.joint(name) for name in robot.joint_names]
        self._joint_qpos = np.array([int(j.qposadr[0]) for j in joints])
        self._joint_qvel = np.array([int(j.dofadr[0]) for j in joints])
        self._actuator = np.array([model.actuator(name).id for name in robot.joint_names])
        self._kp, self._kd = (np.array(robot.values(name)) for name in ("kp", "kd"))
        bodies = [model.body(i) for i in range(1, model.nbody)]
        self.body_names = tuple(b.name for b in bodies)
        if self.body_names[0] != robot.base_link:
            raise ValueError(
                f"{robot.name}: the base link must be the first body, got {self.body_names[0]!r}"
            )
        self.body_mirror = _body_mirror(model, robot)
        self.link_names = tuple(dict.fromkeys(s.link for s in robot.shapes))
        self._links = torch.tensor([model.body(name).id for name in self.link_names])
        self._terrain = np.array([model.geom(terrain_name(i)).id for i in range(self.pool)], dtype=np.intp)

    def _addresses(self) -> Addresses:
        model, sides = self.model, ("right", "left")
        sensor = lambda name: int(model.sensor(name).adr[0])
        return Addresses(
            joint_qpos=self._joint_qpos,
            joint_qvel=self._joint_qvel,
            actuator=self._actuator,
            sole=np.array([model.site(f"{side}_sole").id for side in sides]),
            hand=np.array([model.site(f"{side}_hand").id for side in sides]),
            foot_velocity=np.array([sensor(f"{side}_foot_velocity") for side in sides]),
            foot_force=np.array([sensor(f"{side}_foot_force") for side in sides]),
            body_force=np.array([sensor(name) for name in ("base_force", "torso_force")]),
        )

    def step(self, targets: Tensor, substeps: int) -> None:
        self.ctrl[:, self._actuator] = targets.numpy()
        _open_near_boxes(self.qpos, self._box_range, self._terrain, self._solid)
        self.advance(substeps)

    def advance(self, substeps: int) -> None:
        """Physics alone, with the targets and boxes as they are."""
        try:
            self.batch.step(self.awake, nstep=substeps, stage=STAGE)
        except SimulationError as error:
            # MuJoCo kept these worlds' states; mark them so that `finite` reports them.
            self.qpos[error.ids] = np.nan

    def state(self) -> PhysicsState:
        arrays = self.read()._asdict()
        return PhysicsState(**{name: torch.from_numpy(value.copy()) for name, value in arrays.items()})

    def read(self, env_ids: Tensor | None = None) -> Reading:
        return self.readout(None if env_ids is None else env_ids.numpy())

    def link_poses(self) -> tuple[Tensor, Tensor]:
        position = self._outputs["xpos"][:, self._links].to(self.dtype)
        return position, self._outputs["xquat"][:, self._links].to(self.dtype)

    def reset(self, env_ids: Tensor, pose: ResetPose) -> None:
        ids = env_ids.numpy()
        self.batch.state[ids] = self._untouched  # a third of the time of Batch.reset
        self.qpos[ids, :3] = pose.base_position.numpy()
        self.qpos[ids, 3:7] = pose.base_quaternion.numpy()
        self.qvel[ids, :3] = pose.base_velocity.numpy()
        self.qvel[ids, 3:6] = pose.base_angular_velocity.numpy()
        joints = pose.joint_position.numpy()
        self.qpos[ids[:, None], self._joint_qpos] = joints
        self.qvel[ids[:, None], self._joint_qvel] = pose.joint_velocity.numpy()
        self.ctrl[ids[:, None], self._actuator] = joints
        self.batch.forward(ids, stage=STAGE)

    def place(self, env_ids: Tensor, tiles: Sequence[Tile]) -> None:
        expand = self.batch.expand
        for world, tile in zip(env_ids.tolist(), tiles, strict=True):
            _lay(
                tile.rows(self.pool), len(tile.boxes), self._terrain,
                expand("geom_pos")[world], expand("geom_quat")[world], expand("geom_size")[world],
                expand("geom_rbound")[world], expand("geom_aabb")[world], self._box_range[world],
            )  # fmt: skip

    def randomize(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        ids, model, expand = env_ids.numpy(), self.model, self.batch.expand
        _change_bodies(
            ids, model.body_mass, model.body_inertia, model.body_ipos,
            dynamics.base_added_mass.numpy(), dynamics.base_com_offset.numpy(),
            dynamics.link_mass_scale.numpy(), dynamics.link_com_offset.numpy(),
            expand("body_mass"), expand("body_inertia"), expand("body_ipos"),
        )  # fmt: skip
        _change_motors(
            ids, self._actuator, self._kp, self._kd, dynamics.motor_strength.numpy(),
            dynamics.kp_scale.numpy(), dynamics.kd_scale.numpy(),
            expand("actuator_gainprm"), expand("actuator_biasprm"),
        )  # fmt: skip
        friction = dynamics.friction.numpy()[:, None]
        expand("geom_friction")[ids[:, None], self._terrain[None], 0] = friction
        self.batch.set_const(ids)

    def push(self, env_ids: Tensor, velocity: Tensor) -> None:
        self.qvel[env_ids.numpy(), :3] += velocity.numpy()

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that decides the next step: integration states and per-world model fields."""
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


@njit(cache=True, nogil=True)
def _lay(rows, used, terrain, position, quaternion, size, radius, bounds, box_range):
    """Write a tile's box rows (pool, 7) into one world's geom fields; the rows from `used` on are parked."""
    for b in range(len(rows)):
        geom, half, pitch = terrain[b], rows[b, 3:6], rows[b, 6]
        position[geom] = rows[b, 0:3]
        if b >= used:
            position[geom] = PARKED
        quaternion[geom] = (np.cos(pitch / 2), 0.0, np.sin(pitch / 2), 0.0)
        size[geom] = half
        radius[geom] = np.sqrt(half[0] ** 2 + half[1] ** 2 + half[2] ** 2)
        bounds[geom, 0:3] = 0.0
        bounds[geom, 3:6] = half
        reach = half[0] if pitch == 0.0 else half[0] + half[2]
        box_range[b, 0] = rows[b, 0] - reach
        box_range[b, 1] = rows[b, 0] + reach


@njit(cache=True, nogil=True)
def _change_bodies(
    worlds, mass, inertia, center, base_added, base_offset, scale, offset, new_mass, new_inertia, new_center
):  # fmt: skip
    """Masses, inertias (in proportion) and centres of mass; body 0 is the world, body 1 the base."""
    for k in range(len(worlds)):
        for b in range(1, len(mass)):
            i, heavier = worlds[k], np.float64(scale[k, b - 1])
            if b == 1:
                heavier += base_added[k] / mass[1]
            new_mass[i, b] = mass[b] * heavier
            for c in range(3):
                new_inertia[i, b, c] = inertia[b, c] * heavier
                new_center[i, b, c] = center[b, c] + offset[k, b - 1, c]
                if b == 1:
                    new_center[i, b, c] += base_offset[k, c]


@njit(cache=True, nogil=True)
def _change_motors(worlds, actuator, kp, kd, strength, kp_scale, kd_scale, gain, bias):
    for k in range(len(worlds)):
        for j in range(len(actuator)):
            i, a = worlds[k], actuator[j]
            gain[i, a, 0] = kp[j] * kp_scale[k, j] * strength[k, j]
            bias[i, a, 1] = -gain[i, a, 0]
            bias[i, a, 2] = -kd[j] * kd_scale[k, j] * strength[k, j]


def _body_mirror(model: mujoco.MjModel, robot: RobotSpec) -> tuple[int, ...]:
    """Body i's partner in the mirror, counted from the base: the body its joint's partner moves."""
    partner = list(range(model.nbody - 1))
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

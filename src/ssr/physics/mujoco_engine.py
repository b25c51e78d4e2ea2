"""The CPU engine: `mujoco.batch.Batch`, per-world terrain boxes and per-world dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from torch import Tensor

from ssr.physics.readout import Addresses, Readout
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
        self._readout = Readout({name: bind(name) for name in read}, self._addresses(), dtype)
        self._qpos, self._qvel = torch.from_numpy(self.qpos), torch.from_numpy(self.qvel)
        self._ctrl = torch.from_numpy(self.ctrl)

    def _name_everything(self) -> None:
        """Resolve names to indices once; nothing later relies on an order in the model."""
        model, robot = self.model, self.robot
        joints = [model.joint(name) for name in robot.joint_names]
        self._joint_qpos = torch.tensor([int(j.qposadr[0]) for j in joints])
        self._joint_qvel = torch.tensor([int(j.dofadr[0]) for j in joints])
        self._actuator = torch.tensor([model.actuator(name).id for name in robot.joint_names])
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
            joint_qpos=self._joint_qpos.numpy(),
            joint_qvel=self._joint_qvel.numpy(),
            actuator=self._actuator.numpy(),
            sole=np.array([model.site(f"{side}_sole").id for side in sides]),
            hand=np.array([model.site(f"{side}_hand").id for side in sides]),
            foot_velocity=np.array([sensor(f"{side}_foot_velocity") for side in sides]),
            foot_force=np.array([sensor(f"{side}_foot_force") for side in sides]),
            body_force=np.array([sensor(name) for name in ("base_force", "torso_force")]),
        )

    def step(self, targets: Tensor, substeps: int) -> None:
        self._ctrl[:, self._actuator] = targets.to(torch.float64)
        self._open_reachable_boxes()
        self.advance(substeps)

    def advance(self, substeps: int) -> None:
        """Physics alone, with the targets and boxes as they are."""
        try:
            self.batch.step(self.awake, nstep=substeps, stage=STAGE)
        except SimulationError as error:
            # MuJoCo kept these worlds' states; mark them so that `finite` reports them.
            self.qpos[error.ids] = np.nan

    def _open_reachable_boxes(self) -> None:
        """Wide boxes defeat bounding spheres; leaving far ones out makes stairs a third cheaper."""
        x = self.qpos[:, :1]
        near = (self._box_range[..., 0] < x + REACH) & (self._box_range[..., 1] > x - REACH)
        self._solid[:, self._terrain] = near

    def state(self) -> PhysicsState:
        return PhysicsState(**self._readout())

    def link_poses(self) -> tuple[Tensor, Tensor]:
        position = self._outputs["xpos"][:, self._links].to(self.dtype)
        return position, self._outputs["xquat"][:, self._links].to(self.dtype)

    def reset(self, env_ids: Tensor, pose: ResetPose) -> None:
        ids = env_ids.numpy()
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._qpos[env_ids, :3] = pose.base_position.double()
        self._qpos[env_ids, 3:7] = pose.base_quaternion.double()
        self._qvel[env_ids, :3] = pose.base_velocity.double()
        self._qvel[env_ids, 3:6] = pose.base_angular_velocity.double()
        self._qpos[env_ids[:, None], self._joint_qpos] = pose.joint_position.double()
        self._qvel[env_ids[:, None], self._joint_qvel] = pose.joint_velocity.double()
        self._ctrl[env_ids[:, None], self._actuator] = pose.joint_position.double()
        self.batch.forward(ids, stage=STAGE)

    def place(self, env_ids: Tensor, tiles: Sequence[Tile]) -> None:
        rows = np.stack([tile.rows(self.pool) for tile in tiles])
        used = np.arange(self.pool)[None] < np.array([len(tile.boxes) for tile in tiles])[:, None]
        half = rows[..., 3:6]
        at = (env_ids.numpy()[:, None], self._terrain[None])
        expand = self.batch.expand
        expand("geom_pos")[at] = np.where(used[..., None], rows[..., :3], PARKED)
        pitch = rows[..., 6] / 2
        zero = np.zeros_like(pitch)
        expand("geom_quat")[at] = np.stack([np.cos(pitch), zero, np.sin(pitch), zero], axis=-1)
        expand("geom_size")[at] = half
        expand("geom_rbound")[at] = np.linalg.norm(half, axis=-1)
        reach = np.where(rows[..., 6] == 0.0, half[..., 0], half[..., 0] + half[..., 2])
        self._box_range[env_ids.numpy()] = np.stack([rows[..., 0] - reach, rows[..., 0] + reach], axis=-1)
        expand("geom_aabb")[at] = np.concatenate([np.zeros_like(half), half], axis=-1)

    def randomize(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        ids = env_ids.numpy()
        model, expand = self.model, self.batch.expand
        scale = dynamics.link_mass_scale.double().numpy().copy()
        mass = model.body_mass[None, 1:] * scale
        loaded = mass[:, 0] + dynamics.base_added_mass.double().numpy()
        scale[:, 0] *= loaded / mass[:, 0]
        mass[:, 0] = loaded
        expand("body_mass")[ids, 1:] = mass
        expand("body_inertia")[ids, 1:] = model.body_inertia[None, 1:] * scale[..., None]
        offset = dynamics.link_com_offset.double().numpy().copy()
        offset[:, 0] += dynamics.base_com_offset.double().numpy()
        expand("body_ipos")[ids, 1:] = model.body_ipos[None, 1:] + offset
        strength = dynamics.motor_strength.double().numpy()
        actuator = self._actuator.numpy()
        kp = self.robot.values("kp") * dynamics.kp_scale.double().numpy() * strength
        kd = self.robot.values("kd") * dynamics.kd_scale.double().numpy() * strength
        at = (ids[:, None], actuator[None])
        expand("actuator_gainprm")[(*at, 0)] = kp
        expand("actuator_biasprm")[(*at, 1)] = -kp
        expand("actuator_biasprm")[(*at, 2)] = -kd
        expand("geom_friction")[ids[:, None], self._terrain[None], 0] = dynamics.friction.double().numpy()[
            :, None
        ]
        self.batch.set_const(ids)

    def push(self, env_ids: Tensor, velocity: Tensor) -> None:
        self._qvel[env_ids, :3] += velocity.double()

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

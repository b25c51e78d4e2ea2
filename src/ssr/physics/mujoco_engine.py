"""The CPU engine: `mujoco.batch.Batch`, per-world terrain boxes and per-world dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from torch import Tensor

from ssr.kept import kept
from ssr.physics import mujoco_dynamics
from ssr.physics.boxes import BoxFields, lay
from ssr.physics.loose import poses_of
from ssr.physics.mujoco_dynamics import Bodies, Drawn, Drives
from ssr.physics.mujoco_readout import MujocoReadout, addresses_of
from ssr.physics.naming import names_of
from ssr.physics.readout import PhysicsState, Reading
from ssr.physics.simulator import Dynamics, ResetPose
from ssr.physics.world import PhysicsConfig, build_world
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import LooseBox, Tile

STAGE = mujoco.mjtStage.mjSTAGE_VEL.value  #: makes positions, velocities and their sensors current
DYNAMICS_FIELDS = ("body_mass", "body_inertia", "body_ipos", "actuator_gainprm", "actuator_biasprm")
TERRAIN_FIELDS = ("geom_pos", "geom_quat", "geom_size", "geom_rbound", "geom_aabb", "geom_friction")
REACH = 0.9  #: m along the tile from the base: boxes farther off take no part in collision

_too_full: list[str] = []  #: what MuJoCo said of contacts or constraints for which there was no room


def _take_note(message: str) -> None:
    """Bad worlds are reported through `PhysicsState.finite`, not in a log file in the working folder."""
    if "arena memory" in message:
        _too_full.append(message)


mujoco.set_mju_user_warning(_take_note)


class MujocoSimulator:
    """n worlds of one robot on CPU threads; bit-identical at any thread count."""

    engine = "mujoco"

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
        self._at, names = addresses_of(self.model, robot), names_of(self.model, robot, pool, self.loose)
        self.body_names, self.body_mirror, self.link_names = names.bodies, names.body_mirror, names.links
        self._links, self._terrain = torch.tensor(names.link_bodies), names.terrain
        self._loose_tops = names.loose_tops
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

    @property
    def overflows(self) -> int:
        """Worlds of this process that ran out of room: MuJoCo says so once for each."""
        return len(_too_full)

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
            lay(tile, self._terrain, fields)
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


@kept()
def _open_near_boxes(qpos, box_range, terrain, solid):
    """Wide boxes defeat bounding spheres; leaving far ones out makes stairs a third cheaper."""
    for i in range(len(qpos)):
        x = qpos[i, 0]
        for b in range(len(terrain)):
            solid[i, terrain[b]] = box_range[i, b, 0] < x + REACH and box_range[i, b, 1] > x - REACH


def _alias(array: np.ndarray) -> torch.Tensor:
    """A tensor over MuJoCo's output memory, which is only ever read: torch warns about read-only arrays."""
    interface = dict(array.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder = type("Output", (), {"__array_interface__": interface, "source": array})()
    return torch.from_numpy(np.asarray(holder))

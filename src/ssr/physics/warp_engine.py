"""The GPU engine: `mujoco_warp`, per-world terrain boxes and per-world dynamics; on a CPU for tests."""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type"

from collections.abc import Sequence
from typing import Any

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from torch import Tensor

from ssr import bridge, rotation
from ssr.physics.boxes import BoxFields, lay
from ssr.physics.loose import poses_of
from ssr.physics.mujoco_readout import MujocoArrays, MujocoReadout, addresses_of
from ssr.physics.naming import names_of
from ssr.physics.readout import PhysicsState, Reading
from ssr.physics.simulator import Dynamics, ResetPose
from ssr.physics.warp_dynamics import CHANGED_FIELDS, DERIVED_FIELDS, Workbench
from ssr.physics.warp_graph import Recorded
from ssr.physics.world import PhysicsConfig, build_world
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import LooseBox, Tile

UNSUPPORTED = mujoco.mjtDisableBit.mjDSBL_MIDPHASE | mujoco.mjtDisableBit.mjDSBL_AUTORESET
TERRAIN_FIELDS = ("geom_pos", "geom_quat", "geom_size", "geom_rbound", "geom_aabb")
PLACED = ("geom_xpos", "geom_xmat")  #: of boxes Warp works them out only once, when worlds are made
PER_WORLD = (*TERRAIN_FIELDS, "geom_friction", *CHANGED_FIELDS, *DERIVED_FIELDS)
MOVING = (
    "qpos",
    "qvel",
    "ctrl",
    "qacc_warmstart",
    "time",
)  #: what decides the next step, but ground and body
FORCES = ("qfrc_applied", "xfrc_applied")
LOOSE_CONTACTS = 24  #: more for each loose body
ROWS = 4  #: constraints of a contact
LEAST_CONTACTS = 512  #: room for a few worlds, of which one may need more than its share
TOO_LITTLE_ROOM = int(~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS))
"""The overflows that lose contacts or constraints; a solver that stops early loses none."""


@wp.kernel(enable_backward=False)
def count_overflows(overflow: wp.array(dtype=wp.int32), counter: wp.array(dtype=wp.int32)):
    i = wp.tid()
    if (overflow[i] & TOO_LITTLE_ROOM) != 0:
        wp.atomic_add(counter, 0, 1)
    overflow[i] = 0


def laid_out(tiles: Sequence[Tile], pool: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What m tiles make of the fields of `pool` geoms, (m, pool, ...) by name, and the friction (m, pool) of
    boxes that have their own, which others have not: NaN."""
    count, everything = len(tiles), np.arange(pool)
    shapes = ((3,), (4,), (3,), (), (6,), (2,))
    fields = BoxFields(*(np.empty((count, pool, *shape)) for shape in shapes))
    own = np.full((count, pool), np.nan)
    for k, tile in enumerate(tiles):
        lay(tile, everything, BoxFields(*(field[k] for field in fields)))
        for index, friction in tile.frictions:
            own[k, index] = friction
    laid = dict(zip(TERRAIN_FIELDS, fields[:5], strict=True))
    return laid | {"geom_xpos": fields.position, "geom_xmat": rotation.matrix(fields.quaternion)}, own


class WarpSimulator:
    """n worlds of one robot. What is read of them is on the host; all else stays on `device`.

    Bit for bit repeatable on a CPU. On CUDA the order of contacts is not, so neither are last digits.
    """

    engine = "warp"

    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        *,
        pool: int,
        config: PhysicsConfig | None = None,
        device: torch.device | str = "cpu",
        record: bool = True,
        loose: Sequence[LooseBox] = (),
    ) -> None:
        """record: repeat steps as one CUDA graph."""
        self.robot, self.num_envs, self.pool, self.device = robot, num_envs, pool, torch.device(device)
        config = config or PhysicsConfig()
        self.loose = tuple(loose)
        self.model = build_world(robot, pool, config, self.loose).compile()
        self.model.opt.disableflags &= ~int(UNSUPPORTED)
        # Boxes meet boxes by MuJoCo's own rule and not as any convex shapes: as many contacts as there.
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)
        with bridge.beside(self.device):
            self._m = mjw.put_model(self.model, batch_sizes=dict.fromkeys(PER_WORLD, num_envs))
            self._m.opt.warn_overflow = 0
            contacts = config.contacts + LOOSE_CONTACTS * len(self.loose)
            rows = config.constraints + ROWS * LOOSE_CONTACTS * len(self.loose)
            room = max(contacts * num_envs, LEAST_CONTACTS)
            self._d = mjw.make_data(self.model, nworld=num_envs, naconmax=room, njmax=rows)
            self._overflows = wp.zeros(1, dtype=wp.int32)
        self._at, names = addresses_of(self.model, robot), names_of(self.model, robot, pool, self.loose)
        self.body_names, self.body_mirror, self.link_names = names.bodies, names.body_mirror, names.links
        self._own = {name: bridge.tensor(getattr(self._m, name)) for name in PER_WORLD}
        kept = (*MOVING, *FORCES, *PLACED, "xpos", "xquat")
        self._now = {name: bridge.tensor(getattr(self._d, name)) for name in kept}
        self._links, self._terrain = self._index(names.link_bodies), self._index(names.terrain)
        self._drive, self._joint = self._index(self._at.actuator), self._index(self._at.joint_qpos)
        self._joint_speed = self._index(self._at.joint_qvel)
        self._loose_tops = self._index(names.loose_tops)
        self._box_friction = np.full((num_envs, pool), np.nan)  #: of boxes that have their own
        self._loose_poses = np.repeat(poses_of(self.loose)[None], num_envs, axis=0)  #: at first
        self._workbench = Workbench(self.model, robot, self._at, len(names.bodies), num_envs, self.device)
        self._resting: Tensor | None = None  #: (k,) worlds that stand still
        self._steps: dict[int, Recorded] = {}
        self._record = record
        self._renewed = Recorded(self._renew, self.device, record=record)
        self._host: dict[str, wp.array] = {}
        self.readout = self._make_readout()
        self._renewed()

    def _index(self, numbers: Sequence[int] | np.ndarray) -> Tensor:
        return torch.as_tensor(np.asarray(numbers, dtype=np.int64), device=self.device)

    def _make_readout(self) -> Any:
        """Of what is read on the host: of copies, on a CPU of the arrays themselves."""
        sources = {name: getattr(self._d, name) for name in MujocoArrays._fields}
        if self.device.type != "cpu":
            sources = {
                name: wp.empty(a.shape, dtype=a.dtype, device="cpu", pinned=True)
                for name, a in sources.items()
            }
            self._host = sources
        flat = {name: array.numpy() for name, array in sources.items()}
        flat["site_xmat"] = flat["site_xmat"].reshape(self.num_envs, -1, 9)
        return MujocoReadout(flat.__getitem__, self._at, torch.float32)

    # ---- moving -----------------------------------------------------------------------------------------

    def step(self, targets: Tensor, substeps: int) -> None:
        self.hold(targets)
        self.advance(substeps)

    def hold(self, targets: Tensor) -> None:
        self._now["ctrl"][:, self._drive] = targets.to(self._now["ctrl"])

    def targets(self) -> Tensor:
        return self._now["ctrl"][:, self._drive].cpu()

    def advance(self, substeps: int) -> None:
        if substeps not in self._steps:
            self._steps[substeps] = Recorded(lambda: self._launch(substeps), self.device, record=self._record)
        resting = self._resting
        if resting is None:
            self._steps[substeps]()
            return
        before = {name: self._now[name][resting].clone() for name in MOVING}
        self._steps[substeps]()
        for name, values in before.items():
            self._now[name][resting] = values
        self._renewed()

    def _launch(self, substeps: int) -> None:
        for _ in range(substeps):
            mjw.step(self._m, self._d)
        wp.launch(count_overflows, dim=self.num_envs, inputs=[self._d.overflow], outputs=[self._overflows])
        self._renew()

    def _renew(self) -> None:
        """Positions, velocities and their sensors of the state reached; forces stay those of the last step,
        which `forward` would set to zero."""
        mjw.fwd_kinematics(self._m, self._d)
        mjw.com_vel(self._m, self._d)
        mjw.sensor_vel(self._m, self._d)
        for name, mirror in self._host.items():
            wp.copy(mirror, getattr(self._d, name))

    def push(self, env_ids: Tensor, velocity: Tensor) -> None:
        speed = self._now["qvel"]
        speed[env_ids.to(self.device), :3] += velocity.to(speed)

    def rest(self, env_ids: Tensor) -> None:
        self._resting = env_ids.to(self.device) if env_ids.numel() else None

    @property
    def overflows(self) -> int:
        return int(bridge.tensor(self._overflows))

    # ---- reading ----------------------------------------------------------------------------------------

    def state(self) -> PhysicsState:
        self.read()
        return self.readout.copy()

    def read(self, env_ids: Tensor | None = None) -> Reading:
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        return self.readout.renew(None if env_ids is None else env_ids.numpy())

    def link_poses(self) -> tuple[Tensor, Tensor]:
        return tuple(self._now[name][:, self._links].cpu() for name in ("xpos", "xquat"))  # type: ignore[return-value]

    def configurations(self, env_ids: Tensor) -> Tensor:
        return self._now["qpos"][env_ids.to(self.device)].double().cpu()

    # ---- setting up -------------------------------------------------------------------------------------

    def reset(self, env_ids: Tensor, pose: ResetPose) -> None:
        ids, now = env_ids.to(self.device), self._now
        place, speed, held = now["qpos"][ids], torch.zeros_like(now["qvel"][ids]), now["ctrl"][ids]
        place[:, :3], place[:, 3:7] = pose.base_position.to(place), pose.base_quaternion.to(place)
        speed[:, :3], speed[:, 3:6] = pose.base_velocity.to(speed), pose.base_angular_velocity.to(speed)
        joints = pose.joint_position.to(place)
        place[:, self._joint], held[:, self._drive] = joints, joints
        speed[:, self._joint_speed] = pose.joint_velocity.to(speed)
        if self.loose:
            lying = self._loose_poses[env_ids.cpu().numpy()].reshape(len(ids), -1)
            place[:, -7 * len(self.loose) :] = torch.from_numpy(lying).to(place)
        now["qpos"][ids], now["qvel"][ids], now["ctrl"][ids] = place, speed, held
        for name in ("qacc_warmstart", "time", *FORCES):
            now[name][ids] = 0.0
        self._renewed()

    def place(self, env_ids: Tensor, tiles: Sequence[Tile]) -> None:
        count, pool = len(tiles), self.pool
        laid, friction = laid_out(tiles, pool)
        self._box_friction[env_ids.cpu().numpy()] = friction
        if self.loose:
            for world, tile in zip(env_ids.tolist(), tiles, strict=True):
                self._loose_poses[world] = poses_of(tile.loose)
        ids = env_ids.to(self.device)[:, None], self._terrain[None]
        for name, values in laid.items():
            target = self.terrain_field(name)
            target[ids] = torch.from_numpy(values).to(target).view(count, pool, *target.shape[2:])

    def terrain_field(self, name: str) -> Tensor:
        """A field (n, ngeom, ...) that a tile decides."""
        return self._now[name] if name in PLACED else self._own[name]

    def randomize(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        ids, room = env_ids.to(self.device), self._workbench.room
        for first in range(0, len(ids), room):
            some = slice(first, first + room)
            drawn = {name: values[some].to(self.device) for name, values in vars(dynamics).items()}
            for name, values in self._workbench.work_out(Dynamics(**drawn)).items():
                self._own[name][ids[some]] = values
        friction, own = self._own["geom_friction"], self._box_friction[env_ids.cpu().numpy()]
        boxes = torch.from_numpy(np.where(np.isnan(own), dynamics.friction.cpu().numpy()[:, None], own))
        friction[ids[:, None], self._terrain[None], 0] = boxes.to(friction)
        friction[ids[:, None], self._loose_tops[None], 0] = dynamics.friction.to(friction)[:, None]

    # ---- saving -----------------------------------------------------------------------------------------

    def snapshot(self, env_ids: Tensor | None = None) -> Tensor:
        rows = torch.cat([self._now[name].view(self.num_envs, -1) for name in MOVING], dim=1)
        return (rows if env_ids is None else rows[env_ids.to(self.device)]).cpu()

    def restore(self, snapshot: Tensor, env_ids: Tensor | None = None) -> None:
        ids = slice(None) if env_ids is None else env_ids.to(self.device)
        sizes = [self._now[name].view(self.num_envs, -1).shape[1] for name in MOVING]
        for name, part in zip(MOVING, snapshot.to(self.device).split(sizes, dim=1), strict=True):
            self._now[name].view(self.num_envs, -1)[ids] = part

    def state_dict(self) -> dict[str, Tensor]:
        fields = {f"model.{name}": value for name, value in self._own.items()}
        fields |= {f"data.{name}": self._now[name] for name in (*MOVING, *PLACED)}
        return {name: value.cpu().clone() for name, value in fields.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, value in self._own.items():
            value.copy_(state[f"model.{name}"])
        for name in (*MOVING, *PLACED):
            self._now[name].copy_(state[f"data.{name}"])
        self._renewed()

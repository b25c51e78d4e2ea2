"""The GPU engine for a task that lives on the same device: worlds are named by masks, and nothing of them
goes to the host.

Tiles come from a bank on the device. Dynamics come from a reserve of as many robots as there are worlds,
whose constants are worked out beforehand and all at once: one by one that takes hundreds of launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ssr import bridge, rows
from ssr.physics.mujoco_readout import Addresses, MujocoArrays, read
from ssr.physics.readout import Reading, shapes_of
from ssr.physics.simulator import Dynamics, ResetPose
from ssr.physics.warp_dynamics import Workbench
from ssr.physics.warp_engine import FORCES, WarpSimulator, laid_out
from ssr.physics.world import PhysicsConfig
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Tile


class DeviceReadout:
    """As `ssr.physics.readout.Readout`, of tensors."""

    def __init__(
        self, sources: MujocoArrays, at: Addresses, columns: dict[str, slice], table: Tensor
    ) -> None:
        self.table, self.columns = table, columns
        shapes, n = shapes_of(len(at.joint_qpos)), len(table)
        views = {name: table[:, columns[name]].view(n, *shape) for name, shape in shapes.items()}
        finite = torch.ones(n, dtype=torch.bool, device=table.device)
        self.reading = Reading(**views, finite=finite)  # type: ignore[arg-type]
        whole = lambda values: torch.as_tensor(values, dtype=torch.int32).to(table.device)
        self._at = Addresses(*map(whole, at))  # type: ignore[arg-type]
        self._sources = sources

    def renew(self, chosen: Tensor) -> Reading:
        read(chosen, self._sources, self._at, self.table, self.reading)
        return self.reading


class ResidentSimulator(WarpSimulator):
    """n worlds of which everything that moves, is read and is set stays on the device.

    `chosen` (n,) bool names worlds; every other tensor has a row for each of the n, chosen or not.
    """

    readout: DeviceReadout

    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        *,
        pool: int,
        config: PhysicsConfig | None = None,
        device: torch.device | str = "cpu",
        record: bool = True,
    ) -> None:
        super().__init__(robot, num_envs, pool=pool, config=config, device=device, record=record)
        self.everywhere = torch.ones(num_envs, dtype=torch.bool, device=self.device)
        own = len(self.body_names)
        self._workbench = Workbench(self.model, robot, self._at, own, num_envs, self.device, room=num_envs)
        self.reserve: Dynamics | None = None
        first = int(self._terrain[0])
        assert self._terrain.tolist() == list(range(first, first + pool)), "boxes lie side by side"
        self._boxes = slice(first, first + pool)
        self._bank: dict[str, Tensor] = {}

    def _make_readout(self) -> Any:
        from ssr.physics.readout import Readout

        made = Readout(self.num_envs, len(self._at.joint_qpos), torch.float32)
        sources = {name: bridge.tensor(getattr(self._d, name)) for name in MujocoArrays._fields}
        sources["site_xmat"] = sources["site_xmat"].view(self.num_envs, -1, 9)
        table = torch.zeros(made.table.shape, device=self.device)
        return DeviceReadout(MujocoArrays(**sources), self._at, made.columns, table)  # type: ignore[arg-type]

    # ---- moving, reading --------------------------------------------------------------------------------

    def hold(self, targets: Tensor) -> None:
        self._now["ctrl"].index_copy_(1, self._drive, targets)

    def nudge(self, chosen: Tensor, velocity: Tensor) -> None:
        """Add (n, 3) m/s, world axes, to the base velocity."""
        self._now["qvel"][:, :3] += velocity * chosen.unsqueeze(-1)

    def renew(self, chosen: Tensor | None = None) -> Reading:
        """What is read, brought up to date."""
        return self.readout.renew(self.everywhere if chosen is None else chosen)

    def link_poses(self) -> tuple[Tensor, Tensor]:
        return tuple(self._now[name].index_select(1, self._links) for name in ("xpos", "xquat"))  # type: ignore[return-value]

    @property
    def overflow_count(self) -> Tensor:
        """(1,) int32, `overflows` without waiting for it."""
        return bridge.tensor(self._overflows)

    # ---- setting up -------------------------------------------------------------------------------------

    def take_bank(self, tiles: Sequence[Tile]) -> None:
        """Keep these tiles on the device, to be laid by number."""
        laid, friction = laid_out(tiles, self.pool)
        there = lambda values: torch.from_numpy(values).float().flatten(1).contiguous().to(self.device)
        self._bank = {name: there(values) for name, values in laid.items()}
        self._bank_friction = there(friction)
        self._box_frictions = torch.full((self.num_envs, self.pool), torch.nan, device=self.device)

    def lay(self, chosen: Tensor, numbers: Tensor) -> None:
        """Lay the bank's tiles (n,) int32 under these worlds; their friction is that of `give`, which must
        follow."""
        for name, bank in self._bank.items():
            field = self.terrain_field(name)
            width = bank.shape[1] // self.pool
            flat = field.view(self.num_envs, -1)[:, self._boxes.start * width : self._boxes.stop * width]
            rows.put(chosen, numbers, bank, flat)
        rows.put(chosen, numbers, self._bank_friction, self._box_frictions)

    def prepare(self, drawn: Dynamics) -> None:
        """Have robots with these dynamics (n, ...) in reserve."""
        self.reserve = drawn
        self._workbench.work_out(drawn)

    def give(self, chosen: Tensor, numbers: Tensor) -> None:
        """Let these worlds have the reserve's robots (n,) int32."""
        assert self.reserve is not None
        for name, values in self._workbench.fields.items():
            rows.put(chosen, numbers, values, self._own[name])
        drawn = self.reserve.friction[numbers.long()].unsqueeze(-1)
        boxes = torch.where(self._box_frictions.isnan(), drawn, self._box_frictions)
        sliding = self._own["geom_friction"][:, self._boxes, 0]
        sliding.copy_(torch.where(chosen.unsqueeze(-1), boxes, sliding))

    def begin(self, chosen: Tensor, pose: ResetPose) -> None:
        """Put these worlds into their poses (n, ...), at rest but for the pose's velocities."""
        now = self._now
        place, speed, held = now["qpos"].clone(), torch.zeros_like(now["qvel"]), now["ctrl"].clone()
        place[:, :3], place[:, 3:7] = pose.base_position, pose.base_quaternion
        speed[:, :3], speed[:, 3:6] = pose.base_velocity, pose.base_angular_velocity
        place.index_copy_(1, self._joint, pose.joint_position)
        speed.index_copy_(1, self._joint_speed, pose.joint_velocity)
        held.index_copy_(1, self._drive, pose.joint_position)
        for name, values in (("qpos", place), ("qvel", speed), ("ctrl", held)):
            now[name].copy_(torch.where(chosen.unsqueeze(-1), values, now[name]))
        for name in ("qacc_warmstart", "time", *FORCES):
            shape = (-1, *(1,) * (now[name].ndim - 1))
            now[name].masked_fill_(chosen.view(shape), 0.0)
        self._renewed()

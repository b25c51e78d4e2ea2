"""The dynamics of Table 10 written into Warp's per-world model fields, and what follows from them."""

from __future__ import annotations

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
from torch import Tensor

from ssr import bridge
from ssr.physics.mujoco_dynamics import Bodies
from ssr.physics.mujoco_readout import Addresses
from ssr.physics.simulator import Dynamics
from ssr.robots.spec import RobotSpec

DRIVE_FIELDS = ("actuator_gainprm", "actuator_biasprm")
DERIVED_FIELDS = ("body_subtreemass", "body_invweight0", "dof_invweight0", "actuator_acc0")
"""What `set_const` works out of masses: shared, they would be the first world's for all."""
CHANGED_FIELDS = (*Bodies._fields, *DRIVE_FIELDS)
ROOM = 64  #: robots worked out together


class Workbench:
    """A few robots beside the worlds, whose constants are worked out without disturbing any world.

    Warp's `set_const` takes all worlds of a model at once and moves them to their default pose meanwhile.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        robot: RobotSpec,
        at: Addresses,
        bodies: int,
        worlds: int,
        device: torch.device,
        room: int = ROOM,
    ) -> None:
        """bodies: that the robot has; others may follow them. room: robots worked out together."""
        self.device, self.room = device, min(worlds, room)
        fields = CHANGED_FIELDS + DERIVED_FIELDS
        with bridge.beside(device):
            self._model = mjw.put_model(model, batch_sizes=dict.fromkeys(fields, self.room))
            self._data = mjw.make_data(model, nworld=self.room, nconmax=1, njmax=1)
        self.fields = {name: bridge.tensor(getattr(self._model, name)) for name in fields}
        there = lambda values: torch.as_tensor(np.asarray(values), device=device)
        own, at_drive = slice(1, 1 + bodies), there(at.actuator)
        self._bodies, self._drives = own, at_drive
        self._built = {name: there(getattr(model, name)[own]).float() for name in Bodies._fields}
        self._kp, self._kd = (there(robot.values(name)).float() for name in ("kp", "kd"))

    def work_out(self, drawn: Dynamics) -> dict[str, Tensor]:
        """Every field (m, ...) of robots with these dynamics, at most `room` of them; good until the next.

        Masses, inertias in proportion, centres of mass and drives, as `ssr.physics.mujoco_dynamics` has them.
        """
        count, built = len(drawn.friction), self._built
        heavier = drawn.link_mass_scale.clone()
        heavier[:, 0] += drawn.base_added_mass / built["body_mass"][0]
        moved = drawn.link_com_offset.clone()
        moved[:, 0] += drawn.base_com_offset
        body = {name: self.fields[name][:count, self._bodies] for name in Bodies._fields}
        body["body_mass"].copy_(built["body_mass"] * heavier)
        body["body_inertia"].copy_(built["body_inertia"] * heavier.unsqueeze(-1))
        body["body_ipos"].copy_(built["body_ipos"] + moved)
        stiff = self._kp * drawn.kp_scale * drawn.motor_strength
        damped = self._kd * drawn.kd_scale * drawn.motor_strength
        gain, bias = (self.fields[name].view(self.room, -1, 10)[:count] for name in DRIVE_FIELDS)
        gain[:, self._drives, 0] = stiff
        bias[:, self._drives, 1] = -stiff
        bias[:, self._drives, 2] = -damped
        with bridge.beside(self.device):
            mjw.set_const(self._model, self._data)
        return {name: field[:count] for name, field in self.fields.items()}

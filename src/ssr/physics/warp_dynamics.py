"""The dynamics of Table 10 written into Warp's per-world model fields, and what follows from them."""

from __future__ import annotations

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
from torch import Tensor

from ssr import bridge
from ssr.physics import mujoco_dynamics
from ssr.physics.mujoco_dynamics import Bodies, Drawn, Drives
from ssr.physics.mujoco_readout import Addresses
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
    ) -> None:
        """bodies: that the robot has; others may follow them."""
        self.device, self.room = device, min(worlds, ROOM)
        fields = CHANGED_FIELDS + DERIVED_FIELDS
        with bridge.beside(device):
            self._model = mjw.put_model(model, batch_sizes=dict.fromkeys(fields, self.room))
            self._data = mjw.make_data(model, nworld=self.room, nconmax=1, njmax=1)
        self.fields = {name: bridge.tensor(getattr(self._model, name)) for name in fields}
        copies = {name: np.repeat(getattr(model, name)[None], self.room, 0) for name in CHANGED_FIELDS}
        self._drawn = {name: copies[name] for name in CHANGED_FIELDS}
        own = 1 + bodies
        self._built = Bodies(*(getattr(model, name)[:own] for name in Bodies._fields))
        self._bodies = Bodies(*(copies[name] for name in Bodies._fields))
        self._drives = Drives(
            actuator=at.actuator,
            kp=robot.values("kp"),
            kd=robot.values("kd"),
            gainprm=copies["actuator_gainprm"],
            biasprm=copies["actuator_biasprm"],
        )

    def work_out(self, drawn: Drawn) -> dict[str, Tensor]:
        """Every field (m, ...) of robots with these dynamics, at most `room` of them; good until the next."""
        count = len(drawn.friction)
        mujoco_dynamics.change(np.arange(count), drawn, self._built, self._bodies, self._drives)
        for name, values in self._drawn.items():
            field = self.fields[name][:count]
            field.copy_(torch.from_numpy(values[:count]).view(field.shape))
        with bridge.beside(self.device):
            mjw.set_const(self._model, self._data)
        return {name: field[:count] for name, field in self.fields.items()}

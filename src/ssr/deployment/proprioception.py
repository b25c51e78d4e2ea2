"""The policy's proprioceptive history, built from the contract exactly as training builds it."""

from __future__ import annotations

import numpy as np

from ssr.deployment.contract import Contract
from ssr.deployment.robot_state import Attitude, Joints
from ssr.errors import UserError

KNOWN = ("angular_velocity", "gravity", "command", "joint_position", "joint_velocity", "previous_action")


class Proprioception:
    def __init__(self, contract: Contract) -> None:
        self._names = [segment.name for segment in contract.proprioception]
        if unknown := [name for name in self._names if name not in KNOWN]:
            raise UserError(
                f"The policy observes {unknown[0]!r}; this version of ssr measures {', '.join(KNOWN)}."
            )
        self._scale = np.concatenate([s.scale for s in contract.proprioception])
        self._default = np.array(contract.values("default"))
        self._shape = (contract.history, contract.proprioception_size)
        self.reset()

    def reset(self) -> None:
        self._history: np.ndarray | None = None

    def observe(
        self, joints: Joints, attitude: Attitude, command: np.ndarray, previous_action: np.ndarray
    ) -> np.ndarray:
        """history (h, P) float32, oldest frame first, the caller's own. The first frame fills all of it."""
        raw = {
            "angular_velocity": attitude.angular_velocity,
            "gravity": attitude.gravity,
            "command": command,
            "joint_position": joints.position - self._default,
            "joint_velocity": joints.velocity,
            "previous_action": previous_action,
        }
        frame = (np.concatenate([raw[name] for name in self._names]) * self._scale).astype(np.float32)
        if self._history is None:
            self._history = np.tile(frame, (self._shape[0], 1))
        else:
            self._history = np.concatenate([self._history[1:], frame[None]])
        return self._history.copy()

"""The exported policy under ONNX Runtime, with its memory."""

from __future__ import annotations

import numpy as np
import onnxruntime

from ssr.deployment.contract import Contract
from ssr.deployment.exported import Exported
from ssr.errors import UserError

INPUTS = ("proprioception_history", "depth", "hidden")
OUTPUTS = ("action", "next_hidden")


class OnnxPolicy:
    """One robot's policy. `reset` forgets, `act` takes one control step."""

    def __init__(self, exported: Exported, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # A spinning worker would take the core from the command stream.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.contract = exported.contract
        self._session = onnxruntime.InferenceSession(
            exported.onnx, options, providers=["CPUExecutionProvider"]
        )
        self._check_shapes()
        self.reset()

    def _check_shapes(self) -> None:
        c: Contract = self.contract
        wanted = {
            "proprioception_history": [1, c.history, c.proprioception_size],
            "depth": [1, c.camera.rows, c.camera.columns],
            "hidden": [1, c.hidden_size],
        }
        actual = {i.name: i.shape for i in self._session.get_inputs()}
        if actual != wanted:
            raise UserError(f"The ONNX policy takes {actual}, its contract says {wanted}. Export it again.")
        outputs = {o.name: o.shape for o in self._session.get_outputs()}
        expected = {"action": [1, len(c.joints)], "next_hidden": [1, c.hidden_size]}
        if outputs != expected:
            raise UserError(
                f"The ONNX policy gives {outputs}, its contract says {expected}. Export it again."
            )

    def reset(self) -> None:
        """The memory of a robot that has seen nothing yet."""
        self._hidden = np.zeros((1, self.contract.hidden_size), np.float32)

    def act(self, history: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """history (h, P), oldest first, scaled; depth (rows, columns) in m → action (J,)."""
        inputs = {
            "proprioception_history": history[None],
            "depth": depth[None],
            "hidden": self._hidden,
        }
        action, self._hidden = self._session.run(OUTPUTS, inputs)
        return action[0]

"""From a run directory to the two files a robot needs. The only part of deployment that knows of training."""

from __future__ import annotations

import hashlib
import json
import logging
import warnings
from pathlib import Path
from typing import Any, cast

import onnx
import torch

from ssr import __version__
from ssr.deployment.contract import (
    FORMAT,
    JOINT_FIELDS,
    CameraContract,
    Contract,
    JointContract,
    SegmentContract,
    as_dict,
)
from ssr.deployment.exported import METADATA, write
from ssr.learning import saved
from ssr.learning.algorithm import PolicyModule
from ssr.learning.config import TrainConfig
from ssr.learning.saved import Saved
from ssr.robots import RobotSpec
from ssr.symmetry.layout import Layout
from ssr.symmetry.vectors import layouts
from ssr.task.commands import MAX_YAW_RATE

COMMAND_PERIOD = 0.001  #: s, Appendix D: a 1 kHz stream of joint commands


def export(run: Path) -> Contract:
    """Write `policy.onnx` and `contract.json` into the run directory, from its newest weights.

    Its settings are those sealed with the weights; a config.json that was edited since is refused.
    """
    trained = saved.load(run)
    saved.require_own_settings(run, trained.config)
    return write_export(run, trained)


def write_export(folder: Path, trained: Saved) -> Contract:
    network = trained.policy.network
    contract = make_contract(
        trained.robot, trained.config, network.hidden_size, trained.iteration, weights_digest(network)
    )
    write(folder, contract, to_onnx(network, contract))
    return contract


def weights_digest(network: PolicyModule) -> str:
    """SHA-256 over the names and values of all weights that act."""
    total = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        total.update(name.encode())
        total.update(value.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()


def make_contract(
    robot: RobotSpec, config: TrainConfig, hidden_size: int, iteration: int, weights_sha256: str
) -> Contract:
    camera, commands, vectors = config.camera, config.task.commands, layouts(robot)
    reach = lambda *ranges: max(abs(bound) for pair in ranges for bound in pair)
    return Contract(
        format=FORMAT,
        ssr_version=__version__,
        robot=robot.name,
        iteration=iteration,
        joints=tuple(
            JointContract(name=j.name, **{field: float(getattr(j, field)) for field in JOINT_FIELDS})
            for j in robot.joints
        ),
        locked_joints=robot.locked_joints,
        control_period=config.task.control_period,
        command_period=COMMAND_PERIOD,
        history=config.task.history,
        hidden_size=hidden_size,
        proprioception=_segments(vectors.proprioception),
        action=_segments(vectors.action),
        camera=CameraContract(
            position=tuple(robot.camera.position),
            pitch_degrees=float(robot.camera.pitch),
            sensor_pixels=camera.sensor_pixels,
            sensor_fov_degrees=camera.sensor_fov,
            shrink=camera.shrink,
            rows=camera.height,
            columns=camera.width,
            near=camera.near,
            far=camera.far,
            period=camera.period,
        ),
        velocity_limits=(
            reach(commands.slope_speed, commands.obstacle_speed),
            reach(commands.lateral_speed),
            max(reach(commands.yaw_rate), MAX_YAW_RATE),
        ),
        weights_sha256=weights_sha256,
    )


def _segments(layout: Layout) -> tuple[SegmentContract, ...]:
    spread = lambda scale, size: tuple(scale) if isinstance(scale, tuple) else (float(scale),) * size
    return tuple(SegmentContract(name=s.name, size=s.size, scale=spread(s.scale, s.size)) for s in layout)


def to_onnx(network: PolicyModule, contract: Contract) -> bytes:
    """The policy for one robot as ONNX: named inputs and outputs, and the contract as metadata."""
    example = (
        torch.zeros(1, contract.history, contract.proprioception_size),
        torch.full((1, contract.camera.rows, contract.camera.columns), contract.camera.far),
        network.initial_hidden(1),
    )
    with _quiet(), torch.no_grad():
        program: Any = torch.onnx.export(
            cast(torch.nn.Module, network),
            example,
            input_names=list(network.inputs),
            output_names=list(network.outputs),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    model = program.model_proto
    model.producer_name, model.producer_version = "ssr", __version__
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA, json.dumps(as_dict(contract))
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


class _quiet:
    """The exporter reports what it skips; none of it concerns these networks."""

    def __enter__(self) -> None:
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")
        self._loggers = [logging.getLogger(n) for n in ("torch.onnx", "onnxscript", "onnx_ir")]
        self._levels = [logger.level for logger in self._loggers]
        for logger in self._loggers:
            logger.setLevel(logging.ERROR)

    def __exit__(self, *error: object) -> None:
        for logger, level in zip(self._loggers, self._levels, strict=True):
            logger.setLevel(level)
        self._warnings.__exit__(*error)  # type: ignore[arg-type]

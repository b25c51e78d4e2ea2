"""From a run directory to the two files a robot needs. The only part of deployment that knows of training."""

from __future__ import annotations

import hashlib
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor

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
from ssr.errors import UserError
from ssr.learning.algorithm import network_config
from ssr.learning.averaging import ACTING, shipped
from ssr.learning.config import TrainConfig
from ssr.networks.build import Networks
from ssr.networks.policy import Policy
from ssr.robots import RobotSpec, load
from ssr.symmetry.layout import Layout

COMMAND_PERIOD = 0.001  #: s, Appendix D: a 1 kHz stream of joint commands


def export(run: Path) -> Contract:
    """Write `policy.onnx` and `contract.json` into the run directory, from its newest weights."""
    from ssr.learning.run_directory import RunDirectory

    _, config = RunDirectory.open(run)
    robot = load(config.robot)
    weights, iteration = newest_weights(run)
    networks = build(robot, config, weights, run)
    return write_export(run, networks, robot, config, iteration)


def write_export(
    run: Path, networks: Networks, robot: RobotSpec, config: TrainConfig, iteration: int
) -> Contract:
    policy = networks.policy().eval()
    contract = make_contract(robot, config, networks, iteration, weights_digest(policy))
    write(run, contract, to_onnx(policy, contract))
    return contract


def newest_weights(run: Path) -> tuple[dict[str, Tensor], int]:
    """Weights by name and their iteration: of the small checkpoint or a snapshot, whichever is newer."""
    from safetensors.torch import load_file

    from ssr.learning import small_checkpoint
    from ssr.learning.run_directory import SMALL

    snapshots = sorted((run / "snapshots").glob("[0-9]*.safetensors"))
    newest = int(snapshots[-1].stem) if snapshots else -1
    if (run / SMALL).is_file():
        iteration, _, state = small_checkpoint.load(run / SMALL)
        if iteration >= newest:
            return shipped(state), iteration
    if not snapshots:
        raise UserError(f"{run} holds no weights yet. Let `ssr train` save a checkpoint first.")
    return load_file(str(snapshots[-1])), newest


def build(robot: RobotSpec, config: TrainConfig, weights: dict[str, Tensor], run: Path) -> Networks:
    networks = Networks(robot, network_config(config))
    own = {k: v for k, v in weights.items() if k.startswith(ACTING)}
    wanted = {k for k in networks.state_dict() if k.startswith(ACTING)}
    try:
        networks.load_state_dict(own, strict=False)
    except RuntimeError as error:
        raise UserError(f"The weights of {run} do not fit its configuration: {_first_line(error)}") from None
    if missing := wanted - own.keys():
        raise UserError(f"The weights of {run} lack {min(missing)}: they are not those of this policy.")
    return networks


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].strip()


def weights_digest(policy: Policy) -> str:
    """SHA-256 over the names and values of all weights that act."""
    total = hashlib.sha256()
    for name, value in sorted(policy.state_dict().items()):
        total.update(name.encode())
        total.update(value.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()


def make_contract(
    robot: RobotSpec, config: TrainConfig, networks: Networks, iteration: int, weights_sha256: str
) -> Contract:
    camera, commands = config.camera, config.task.commands
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
        hidden_size=networks.encoder.hidden_size,
        proprioception=_segments(networks.layouts.proprioception),
        action=_segments(networks.layouts.action),
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
            reach(commands.slope_speed, commands.stairs_speed, commands.gap_speed, commands.omni_forward),
            reach(commands.omni_lateral),
            max(reach(commands.omni_yaw), commands.max_yaw_rate),
        ),
        weights_sha256=weights_sha256,
    )


def _segments(layout: Layout) -> tuple[SegmentContract, ...]:
    spread = lambda scale, size: tuple(scale) if isinstance(scale, tuple) else (float(scale),) * size
    return tuple(SegmentContract(name=s.name, size=s.size, scale=spread(s.scale, s.size)) for s in layout)


def to_onnx(policy: Policy, contract: Contract) -> bytes:
    """The policy for one robot as ONNX: named inputs and outputs, and the contract as metadata."""
    example = (
        torch.zeros(1, contract.history, contract.proprioception_size),
        torch.full((1, contract.camera.rows, contract.camera.columns), contract.camera.far),
        policy.initial_hidden(1),
    )
    with _quiet(), torch.no_grad():
        program: Any = torch.onnx.export(
            policy,
            example,
            input_names=list(policy.inputs),
            output_names=list(policy.outputs),
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

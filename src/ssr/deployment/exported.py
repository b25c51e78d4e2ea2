"""An exported run: `policy.onnx` and `contract.json`, written together and checked against each other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssr.deployment.contract import (
    SEAL,
    Contract,
    as_dict,
    check_robot,
    differences,
    listed,
    parse,
    seal,
)
from ssr.errors import UserError
from ssr.files import write_bytes, write_text

if TYPE_CHECKING:  # on a robot neither torch nor mujoco is there
    from ssr.robots.spec import RobotSpec

CONTRACT, ONNX = "contract.json", "policy.onnx"
METADATA = "ssr_contract"  #: the ONNX metadata entry that holds the contract


@dataclass(frozen=True, kw_only=True)
class Exported:
    contract: Contract
    onnx: bytes  #: the very bytes that were checked


def write(run: Path, contract: Contract, onnx: bytes) -> None:
    """Both files of an export; `onnx` already carries the contract. Each appears complete or not at all."""
    content: dict[str, Any] = {**as_dict(contract), "onnx_sha256": hashlib.sha256(onnx).hexdigest()}
    content[SEAL] = seal(content)
    write_bytes(run / ONNX, onnx)
    write_text(run / CONTRACT, json.dumps(content, indent=1) + "\n")


def read(run: Path, robot: RobotSpec | None = None) -> Exported:
    """The exported policy of a run, refused if anything about it was changed or does not fit `robot`."""
    content, onnx = _contract_file(run), _onnx_file(run)
    where = str(run / CONTRACT)
    contract = parse(content, where)
    inside = _metadata(onnx, run / ONNX)
    found = differences({k: v for k, v in content.items() if k not in (SEAL, "onnx_sha256")}, inside)
    if found:
        raise UserError(
            f"{where} differs from what {ONNX} was exported with: {listed(found)}. Export the run again."
        )
    if content[SEAL] != seal(content):
        raise UserError(f"{where} was edited: its checksum does not fit. Export the run again.")
    if content.get("onnx_sha256") != hashlib.sha256(onnx).hexdigest():
        raise UserError(f"{run / ONNX} is not the file {where} was written for. Export the run again.")
    if robot is not None:
        check_robot(contract, robot)
    return Exported(contract=contract, onnx=onnx)


def _contract_file(run: Path) -> Any:
    try:
        return json.loads((run / CONTRACT).read_text())
    except OSError:
        if not Path(run).is_dir():
            raise UserError(
                f"{run} does not exist. Give a run directory on which `ssr export` was run."
            ) from None
        raise UserError(f"{run} has no {CONTRACT}. Run `ssr export {run}` first.") from None
    except (ValueError, RecursionError):
        raise UserError(f"{run / CONTRACT} is not valid JSON. Export the run again.") from None


def _onnx_file(run: Path) -> bytes:
    try:
        return (run / ONNX).read_bytes()
    except OSError:
        raise UserError(f"{run} has no {ONNX}. Run `ssr export {run}` first.") from None


def _metadata(onnx: bytes, path: Path) -> Any:
    """The contract inside the ONNX file."""
    import onnxruntime

    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
        return json.loads(session.get_modelmeta().custom_metadata_map[METADATA])
    except KeyError:
        raise UserError(f"{path} carries no contract: `ssr export` did not write it.") from None
    except Exception:  # onnxruntime raises a private class per kind of damage
        raise UserError(f"{path} is damaged. Export the run again.") from None

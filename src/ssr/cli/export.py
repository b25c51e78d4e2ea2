"""`ssr export`: from a run directory to the two files a robot needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.deployment.config import TO_EXPORT, require_packages
from ssr.ranges import settings


@settings("--")
class ExportOptions:
    """Write policy.onnx and contract.json into a run directory, from the run's newest weights.

    The ONNX file holds encoder, estimator and actor, with the memory going in and out; the contract holds
    every order, scale, limit and rate that `ssr deploy` checks against the robot before it starts.
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run directory made by `ssr train`, or a policy that ships (x2), which is copied to out/NAME."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(ExportOptions, argv, prog="ssr export")
    require_packages(TO_EXPORT)
    from ssr.deployment.exported import CONTRACT, ONNX
    from ssr.export.policy import export
    from ssr.pretrained import copied

    run = copied(str(options.run))
    contract = export(run)
    size = (run / ONNX).stat().st_size / 1e6
    rate = 1.0 / (contract.camera.period * contract.control_period)
    print(
        f"{run / ONNX} ({size:.1f} MB) and {CONTRACT}: {contract.robot}, iteration "
        f"{contract.iteration}, {len(contract.joints)} joints, camera at {rate:g} Hz"
    )
    return 0

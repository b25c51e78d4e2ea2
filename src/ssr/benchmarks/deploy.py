"""What deployment costs: one inference on one core, one image through the filters, and a long sitting.

Inference is timed by the wall clock as the controller runs it: one thread, real-time priority if the system
grants it. PyTorch runs in turns with it, on the same inputs, so that there is a ratio that does not depend on
the machine. The sitting is `ssr robot-sim` (on its gantry) and `ssr deploy` as processes, talking over DDS.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch

from ssr import pretrained
from ssr.deployment import exported
from ssr.deployment.config import DdsConfig, require_packages
from ssr.deployment.contract import CameraContract
from ssr.deployment.depth_pipeline import DepthPipeline, ImageSource
from ssr.deployment.onnx_policy import OnnxPolicy
from ssr.deployment.realtime import claim_priority, step_back
from ssr.errors import UserError
from ssr.export.policy import write_export
from ssr.learning import presets, saved
from ssr.learning.algorithm import PolicyModule
from ssr.learning.saved import Saved
from ssr.learning.ssr_policy import SSRPolicy, network_config
from ssr.networks.build import Networks
from ssr.ranges import Within, checked
from ssr.rehearsal.operator import PAUSE, Operator
from ssr.rehearsal.sim2sim import Process
from ssr.robots import load

PATIENCE = 120.0  #: s for the processes to be up
BLOCK = 50  #: inferences in a row before the other one's turn
DOMAIN = 88


@checked
def run(
    widths: Literal["paper", "cpu"] = "paper",
    policy: Path | None = None,
    steps: Annotated[int, Within(1, 10_000_000)] = 2000,
    soak_seconds: Annotated[float, Within(0.0, 1e6)] = 0.0,
) -> dict[str, object]:
    """Time inference and camera filters, and hold a long sitting.

    Args:
        widths: Of an untrained policy.
        policy: A run directory, or x2, to take the policy from instead.
        steps: Inferences to time.
        soak_seconds: How long controller and simulated robot run together; 600 for the ten minutes.
    """
    require_packages()
    if steps < BLOCK:
        raise UserError(f"--steps {steps}: at least {BLOCK}.")
    with tempfile.TemporaryDirectory() as folder:
        directory, networks = _policy(widths, policy, Path(folder))
        figures: dict[str, object] = {"policy": str(policy or f"untrained, {widths} widths")}
        soak = _soak(directory, soak_seconds) if soak_seconds > 0 else {}
        figures["real_time_priority"] = not claim_priority()
        torch.set_num_threads(1)
        files = exported.read(directory)
        figures |= _inference(OnnxPolicy(files), networks, steps)
        figures |= _images(files.contract.camera, max(steps // 4, BLOCK))
        return figures | soak


def _policy(widths: str, given: Path | None, folder: Path) -> tuple[Path, PolicyModule]:
    if given is not None:
        trained = saved.load(pretrained.located(str(given)))
    else:
        config = presets.preset(widths)
        robot = load(config.robot)
        torch.manual_seed(0)
        policy = SSRPolicy(Networks(robot, network_config(config)), imagines=False)
        trained = Saved(config=config, robot=robot, iteration=0, policy=policy)
    write_export(folder, trained)
    return folder, trained.policy.network


def _inference(onnx: OnnxPolicy, policy: PolicyModule, steps: int) -> dict[str, object]:
    c, rng = onnx.contract, np.random.default_rng(0)
    histories = rng.normal(size=(BLOCK, c.history, c.proprioception_size)).astype(np.float32)
    images = rng.uniform(0.1, 3.0, (BLOCK, c.camera.rows, c.camera.columns)).astype(np.float32)
    hidden = policy.initial_hidden(1)
    times: dict[str, list[float]] = {"onnx": [], "torch": []}
    for _ in range(max(1, steps // BLOCK)):
        for history, image in zip(histories, images, strict=True):
            begin = time.perf_counter()
            onnx.act(history, image)
            times["onnx"].append(time.perf_counter() - begin)
        with torch.inference_mode():
            for history, image in zip(histories, images, strict=True):
                begin = time.perf_counter()
                _, hidden = policy(torch.from_numpy(history)[None], torch.from_numpy(image)[None], hidden)
                times["torch"].append(time.perf_counter() - begin)
    milliseconds = {name: 1000.0 * np.array(values) for name, values in times.items()}
    return {
        "inference_ms_median": round(float(np.median(milliseconds["onnx"])), 3),
        "inference_ms_p99": round(float(np.percentile(milliseconds["onnx"], 99)), 3),
        "inference_ms_max": round(float(milliseconds["onnx"].max()), 3),
        "torch_over_onnx": round(
            float(np.median(milliseconds["torch"]) / np.median(milliseconds["onnx"])), 2
        ),
    }


def _images(camera: CameraContract, count: int) -> dict[str, object]:
    source, pipeline, rng = ImageSource(camera), DepthPipeline(camera), np.random.default_rng(0)
    width, height = camera.sensor_pixels
    image = rng.integers(300, 3000, (height, width), dtype=np.uint16)
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        pipeline.process(source.frame(image))
        times.append(1000.0 * (time.perf_counter() - begin))
    step_back()
    return {
        "image_ms_median": round(float(np.median(times)), 3),
        "image_ms_p99": round(float(np.percentile(times, 99)), 3),
    }


def _soak(run: Path, seconds: float) -> dict[str, object]:
    """Controller and robot together; the robot hangs, so that any policy lasts."""
    network = ["--network.domain", str(DOMAIN)]
    operator = Operator(DdsConfig(domain=DOMAIN))
    with ExitStack() as stack:
        robot = Process("robot-sim", "--gantry.mode", "hold", *network)
        stack.callback(robot.end)
        waiting = ["--wait", str(PATIENCE), "--record", str(run / "soak.mcap")]
        controller = Process("deploy", str(run), "--arm", *waiting, *network)
        stack.callback(controller.end)
        if not (operator.bring_to("stand", PATIENCE) and operator.bring_to("walk", PATIENCE)):
            raise UserError(f"The sitting did not begin: {operator.status or controller.end()[1].strip()}")
        begin = shown = time.monotonic()
        while time.monotonic() - begin < seconds and operator.status["phase"] == "walk":
            operator.look()
            operator.drive(0.3, 0.0, 0.0)
            if time.monotonic() - shown > 30.0:
                shown = time.monotonic()
                print(f"{shown - begin:.0f} s: {operator.status}", file=sys.stderr)
            time.sleep(PAUSE)
        status, lag = operator.status, operator.truth.get("lag_ms")
        lasted = time.monotonic() - begin
    return {
        "soak_seconds": round(lasted, 1),
        "soak_ended_in": f"{status['phase']} {status['reason']}".strip(),
        "soak_commands_per_second": status["command_rate"],
        "soak_commands_skipped": status["skipped"],
        "soak_longest_pause_ms": status["longest_pause_ms"],
        "soak_actions_late_and_handled": status["missed"],
        "soak_records_dropped": status["dropped"],
        "soak_robot_ms_given_up": lag,
        "soak_recording_megabytes": round((run / "soak.mcap").stat().st_size / 1e6, 1),
    }

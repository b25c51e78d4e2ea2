"""Everything that only a machine with a CUDA card can tell, in one go; without one, on Warp's CPU device."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from statistics import median
from typing import Annotated, Any

import torch
from torch import Tensor

from ssr.benchmarks.blocks import Rounds
from ssr.errors import UserError
from ssr.learning import presets, worlds
from ssr.learning.trainer import Trainer
from ssr.physics.comparison import against_mujoco, graph_against_launches
from ssr.ranges import Within, checked
from ssr.robots import load
from ssr.task.resident_env import ResidentEnv
from ssr.vision.camera import CameraConfig

COMPARED = 64  #: worlds in which engines are compared
BLOCK = 24  #: control steps per timed block
Count = Annotated[int, Within(0, 65_536)]


@checked
def run(num_envs: Count = 0, rounds: Rounds = 5, preset: str = "", device: str = "") -> dict[str, Any]:
    """Graph against single launches, parity with the CPU engine, rates, waits, memory. One line to send us:
    `ssr bench gpu --json`.

    num_envs: worlds; 0 means 4,096 on a card and 16 on the CPU. rounds: timed blocks of each rate, of which
    the median counts. preset: of the training; by default paper on a card and smoke on the CPU. device: by
    default the first card.
    """
    at = torch.device(device or ("cuda:0" if torch.cuda.is_available() else "cpu"))
    if at.type == "cuda" and (not torch.cuda.is_available() or at.index is None):
        raise UserError(f"No device {at}: give one with its number, e.g. cuda:0, where there is a card.")
    on_card = at.type == "cuda"
    if not on_card:
        print(
            "No CUDA device: this runs on Warp's CPU device. The rates say nothing of a GPU.", file=sys.stderr
        )
    num_envs = num_envs or (4096 if on_card else 16)
    figures: dict[str, Any] = {"device": torch.cuda.get_device_name(at) if on_card else "cpu"}
    figures |= {name: version(name) for name in ("torch", "warp-lang", "mujoco-warp", "mujoco")}
    figures |= {"cuda": torch.version.cuda, "worlds": num_envs}
    figures["graph_apart"] = graph_against_launches(load("x2"), COMPARED, at)
    for substeps, apart in against_mujoco(load("x2"), COMPARED, at).items():
        figures[f"parity_{substeps}_median"] = float(apart.median())
        figures[f"parity_{substeps}_largest"] = float(apart.max())
    figures |= rates(at, num_envs, rounds)
    return figures | training(at, num_envs, rounds, preset or ("paper" if on_card else "smoke"))


# ---- how fast, how large, does it wait -------------------------------------------------------------------


def _rate(at: torch.device, work: Callable[[], None], steps: int, rounds: int) -> float:
    """Median world steps per second; the first block only warms up."""
    found = []
    for _ in range(rounds + 1):
        _finish(at)
        begin = time.perf_counter()
        work()
        _finish(at)
        found.append(steps / (time.perf_counter() - begin))
    return round(median(found[1:]), 1)


def _finish(at: torch.device) -> None:
    if at.type == "cuda":
        torch.cuda.synchronize(at)


def rates(at: torch.device, num_envs: int, rounds: int) -> dict[str, Any]:
    """World steps per second of physics, of the task, and of the task with the camera; and whether a step and
    a restart wait."""
    out: dict[str, Any] = {}
    for name, camera in (("task", None), ("camera", CameraConfig())):
        env = ResidentEnv(load("x2"), num_envs, camera=camera, device=at)
        env.reset()
        action = 0.3 * torch.randn(BLOCK, num_envs, env.layouts.action.size, device=at)

        def walk(env: ResidentEnv = env, action: Tensor = action) -> None:
            for one in action:
                env.restart(env.step(one).ended)

        if name == "task":
            targets = env.default.repeat(num_envs, 1)

            def alone(env: ResidentEnv = env, targets: Tensor = targets) -> None:
                for _ in range(BLOCK):
                    env.simulator.step(targets, env.substeps)

            out["physics_sps"] = _rate(at, alone, num_envs * BLOCK, rounds)
        out[f"{name}_sps"] = _rate(at, walk, num_envs * BLOCK, rounds)
        out[f"{name}_waits"] = _waits(at, walk)
        out[f"{name}_bad_worlds"], out[f"{name}_overflows"] = env.bad_worlds, env.overflows
    return out


def _waits(at: torch.device, work: Callable[[], None]) -> str:
    """What in there made PyTorch wait for the device, if anything did."""
    if at.type != "cuda":
        return "not asked: no CUDA device"
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return "none"


def training(at: torch.device, num_envs: int, rounds: int, preset: str) -> dict[str, Any]:
    """World steps per second of whole iterations, and the most memory that was held."""
    config = presets.preset(preset)
    config = replace(config, device=str(at), env=replace(config.env, num_envs=num_envs, engine="warp"))
    if at.type == "cuda":
        torch.cuda.reset_peak_memory_stats(at)
    trainer = Trainer(*worlds.make(config))
    said: dict[str, float] = {}
    iterate = lambda: said.update(trainer.iterate())
    out: dict[str, Any] = {"preset": preset}
    out["train_sps"] = _rate(at, iterate, num_envs * config.ppo.steps, max(1, rounds // 2))
    out |= {name: round(value, 3) for name, value in said.items() if name.startswith("seconds/")}
    if at.type == "cuda":
        import warp as wp

        free, total = torch.cuda.mem_get_info(at)
        out["torch_peak_gb"] = round(torch.cuda.max_memory_allocated(at) / 1e9, 3)
        out["warp_peak_gb"] = round(wp.get_mempool_used_mem_high(str(at)) / 1e9, 3)
        out["device_used_gb"], out["device_gb"] = round((total - free) / 1e9, 3), round(total / 1e9, 3)
    return out

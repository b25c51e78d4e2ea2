"""`ssr doctor`: what this machine has, and which preset suits it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console
from rich.table import Table

from ssr.cli import arguments
from ssr.machine import cores, memory_gigabytes
from ssr.ranges import settings

PACKAGES = ("torch", "mujoco", "mujoco-warp", "warp-lang", "numba", "numpy", "mink", "viser", "onnxruntime")


@settings("--")
class Doctor:
    """Tell what this machine has (cores, memory, GPU, OpenGL, versions) and which preset suits it."""

    preset: str | None = None
    """Instead: what training with this preset will hold on a device, part by part. Takes a minute or two."""
    device: str = "cuda"
    """On which device that would be; none needs to be here."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(Doctor, argv, prog="ssr doctor")
    if options.preset is not None:
        return show_plan(options.preset, options.device)
    gpus = gpu_names()
    table = Table(show_header=False, box=None)
    table.add_row("system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
    table.add_row("cores", str(cores()))
    table.add_row("memory", f"{memory_gigabytes():.0f} GB")
    table.add_row("GPU", ", ".join(gpus) or "none: training runs on the CPU")
    table.add_row("OpenGL", offscreen_rendering())
    for package in PACKAGES:
        table.add_row(package, installed(package))
    table.add_row("preset", suited_preset(gpus))
    Console().print(table)
    return 0


def show_plan(preset: str, device: str) -> int:
    """The memory plan as a table; 1 if it does not fit."""
    import re

    from ssr.benchmarks import memory_plan
    from ssr.errors import UserError
    from ssr.learning import presets

    if not re.fullmatch(r"cuda(:\d{1,3})?", device):
        raise UserError(f"A memory plan is made for CUDA devices, not for {device!r}. Known: cuda, cuda:0, …")
    config = presets.preset(preset)
    plans = [memory_plan.plan(config, mirrored_input=mirrored) for mirrored in (False, True)]
    title = f"{preset} on {device}: {config.env.num_envs:,} worlds, {config.ppo.steps} steps, GB"
    table = Table("", "SSR", "input symmetry", title=title)
    for name in plans[0].parts:
        table.add_row(name, *(f"{plan.parts[name]:.2f}" for plan in plans))
    totals = [plan.total for plan in plans]
    table.add_row("all", *(f"{total:.2f}" for total in totals), style="bold", end_section=True)
    for name in plans[0].updates:
        table.add_row(f"update of {name} alone", *(f"{plan.updates[name]:.2f}" for plan in plans))
    console = Console()
    console.print(table)
    fits = max(totals) <= memory_plan.BOUND
    verdict = "fits into" if fits else "does NOT fit into"
    console.print(
        f"It {verdict} the {memory_plan.BOUND:g} GB that a card of 24 GB has for a run.", highlight=False
    )
    return int(not fits)


def gpu_names() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def offscreen_rendering() -> str:
    from ssr.pictures.offscreen import working_backend

    backend = working_backend()
    return (
        f"offscreen pictures through {backend}"
        if backend
        else "no offscreen OpenGL: install libegl1 or libosmesa6"
    )


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def suited_preset(gpus: list[str]) -> str:
    if gpus:
        return "paper (a GPU is here), or cpu for small experiments"
    return "cpu: narrower networks, the same method"

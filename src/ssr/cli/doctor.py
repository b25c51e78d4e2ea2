"""`ssr doctor`: what this machine has, and which preset suits it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import tyro
from rich.console import Console
from rich.table import Table

from ssr.machine import cores, memory_gigabytes
from ssr.ranges import settings

PACKAGES = ("torch", "mujoco", "mujoco-warp", "warp-lang", "numba", "numpy", "mink", "viser", "onnxruntime")


@settings("--")
class Doctor:
    """Tell what this machine has (cores, memory, GPU, OpenGL, versions) and which preset suits it."""


def run(argv: list[str]) -> int:
    tyro.cli(Doctor, args=argv, prog="ssr doctor")
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

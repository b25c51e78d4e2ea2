"""What happens once on a machine, so that it is not taken for something else."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def compile_kernels(package: Path = PACKAGE) -> None:
    """Compiles what any walk and its training need, with a bar; nothing if that was done since the package
    was installed."""
    done = package / "__pycache__" / "compiled"
    if done.exists() and done.stat().st_mtime >= (package / "__init__.py").stat().st_mtime:
        return
    import torch
    from rich.console import Console

    from ssr.compiling import compiling
    from ssr.progress import Progress
    from ssr.robots import load
    from ssr.task.env import TraversalEnv
    from ssr.vision.camera import CameraConfig
    from ssr.vision.support import expected_deficiency

    with Progress(Console(stderr=True)) as progress, compiling(progress), torch.random.fork_rng(devices=[]):
        # Two worlds: a part of one world's row has no gaps, which makes it another type of array.
        env = TraversalEnv(load("x2"), 2, camera=CameraConfig(period=1))
        env.reset()
        transition = env.step(torch.zeros(2, env.layouts.action.size))
        env.restart(transition.ended)
        env.commands.follow(torch.arange(2), torch.zeros(2), env.field.type)  # who begins in reference motion
        expected_deficiency(  # of footholds that training imagines
            env.field, torch.zeros(2, 2, 2), torch.ones(2, 2), transition.feet.yaw, env.robot.sole,
            needed=torch.ones(2, 2, dtype=torch.bool),
        )  # fmt: skip
    with suppress(OSError):  # a package that cannot be written to: then it is tried the next time
        done.parent.mkdir(exist_ok=True)
        done.touch()

"""`ssr demo`: the guided tour behind `make demo`."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Annotated

from rich.console import Console

from ssr.cli import arguments
from ssr.pretrained import DEFAULT, names
from ssr.ranges import Within, settings
from ssr.terrain.settings import LEVELS

console = Console()
WARM_UP = 10  #: control steps before the measurement: every kernel has run, every camera has looked
MEASURED = 5.0  #: s


@settings("--")
class Demo:
    """Set X2 on every kind of terrain, measure the simulation, train a few iterations; write pictures."""

    out: Path = Path("out/demo")
    """Where the pictures go."""
    level: Annotated[int, Within(0, LEVELS - 1)] = 10
    """Terrain level, 0 to 19."""
    iterations: Annotated[int, Within(0, 1_000_000)] = 25
    """Training iterations of the short run; 0 skips it."""


def run(argv: list[str]) -> int:
    demo = arguments.parsed(Demo, argv, prog="ssr demo")
    demo.out.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    written = [show_terrain(demo.out, demo.level)]
    measure()
    if demo.iterations:
        written.append(train_briefly(demo.out, demo.iterations))
    if DEFAULT in names():
        written += film_walking(demo.out)
    console.print(f"\nDone in {time.monotonic() - begin:.0f} s. Look at:")
    for path in written:
        console.print(f"  {path}")
    return 0


def show_terrain(out: Path, level: int) -> Path:
    """X2 on each kind of terrain: what an onlooker sees, and what its camera sees."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ssr.cli.camera import StandingRobot
    from ssr.robots import load
    from ssr.terrain.making import make_tile
    from ssr.terrain.registry import kind_named, trained_kinds
    from ssr.vision.camera import CameraConfig

    kinds = [kind_named(name) for name in trained_kinds()]
    console.print(
        f"[bold]1. {len(kinds)} kinds of terrain at level {level}[/bold], as an onlooker and X2 see it"
    )
    figure = Figure(figsize=(16, 5.2), layout="constrained")
    axes = figure.subplots(2, len(kinds), height_ratios=(1.25, 1))
    camera = CameraConfig()
    for column, kind in zip(axes.T, kinds, strict=True):
        tile = make_tile(kind.name, level if kind.parameters else None)
        scene = StandingRobot(load("x2"), tile, None, "stand" if kind.parameters else "step")
        depth = scene.depth(camera, 0)
        picture = scene.onlooker(depth, camera)
        if picture is not None:
            column[0].imshow(picture[:, 90:-90])
        column[0].set_title(kind.name.replace("_", " "))
        column[1].imshow(depth, cmap="turbo", vmin=camera.near, vmax=camera.far, interpolation="nearest")
        for view in column:
            view.set_axis_off()
        console.print(f"   {kind.name}: {kind.describe(tile.setting)}")
    path = out / "terrain.png"
    FigureCanvasAgg(figure).print_png(str(path))
    return path


def measure() -> None:
    import torch

    from ssr.compiling import compiling
    from ssr.progress import Progress
    from ssr.robots import load
    from ssr.task.env import TraversalEnv
    from ssr.task.first_time import compile_kernels
    from ssr.vision.camera import CameraConfig

    console.print("[bold]2. How fast it runs here[/bold]: 128 robots on mixed terrain, 10 Hz depth cameras")
    compile_kernels()  # those of training too, or it would be said twice
    torch.set_num_threads(1)
    env = TraversalEnv(load("x2"), 128, camera=CameraConfig(period=5))

    def step() -> None:
        transition = env.step(0.3 * torch.randn(env.num_envs, env.layouts.action.size))
        env.restart(transition.ended)

    with Progress(console) as progress, compiling(progress):
        env.reset()
        for _ in range(WARM_UP):
            step()
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < MEASURED:
        step()
        steps += env.num_envs
    rate = steps / (time.perf_counter() - begin)
    console.print(f"   {rate:,.0f} control steps per second, {rate / 50:,.0f} times real time")


def train_briefly(out: Path, iterations: int) -> Path:
    """A few iterations of everything SSR learns with, and the curve of its return."""
    from dataclasses import replace

    from ssr.learning import presets, runner

    console.print(f"[bold]3. A short training run[/bold]: {iterations} iterations of the smoke preset")
    config = presets.preset("smoke")
    config = replace(config, run=replace(config.run, iterations=iterations))
    path = out / "run"
    shutil.rmtree(path, ignore_errors=True)
    runner.start(path, runner.with_ranks(config))
    return _curve(path, out / "training.png")


def film_walking(out: Path) -> list[Path]:
    """The shipped policy up the stairs, randomized as in training, in a trial that goes well."""
    from ssr.cli import film

    console.print("[bold]4. The policy that ships[/bold]: eight seconds up stairs of 13 cm")
    strip = ["--terrain", "stairs_up", "--setting", "0.13/0.32", "--trial", "143", "--seconds", "8"]
    film.run([DEFAULT, *strip, "--out", str(out)])
    return sorted(out.glob("stairs_up*"))


def _curve(run: Path, picture: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for name in ("return/locomotion", "return/foothold", "return/style"):
        points = [(m["iteration"], m[name]) for m in lines if name in m]
        if points:
            axes.plot(*zip(*points, strict=True), label=name.removeprefix("return/"))
    axes.set(xlabel="iteration", ylabel="episode return", title="A short run from nothing")
    axes.legend()
    figure.savefig(picture, dpi=130)
    plt.close(figure)
    return picture

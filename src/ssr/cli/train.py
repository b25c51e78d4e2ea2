"""`ssr train`: train a policy, resume a run, or continue from a small checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from ssr.errors import UserError
from ssr.learning.config import TrainConfig

DESCRIPTION = """Train a policy. Presets: paper (the paper's numbers, GPU), cpu (two cores), smoke (seconds).

    ssr train --preset cpu                       a new run in runs/
    ssr train --preset cpu --env.num-envs 128    any setting can be changed
    ssr train --preset cpu --explain             where the preset departs from the paper, and why
    ssr train --resume RUN                       go on with a run, bit for bit
    ssr train --continue RUN/small.safetensors   a new run from a small checkpoint's weights
    torchrun --nnodes 2 --nproc-per-node 8 -m -- ssr.cli.main train --run DIR
                                                 on several machines

Ctrl-C saves and stops."""

#: Settings of the networks that follow from others, and what to set instead.
FOLLOWS = {
    "equivariant": "--ablation.no-symmetry or --ablation.input-symmetry",
    "history": "--task.history",
    "streams": "--ablation.no-foothold or --ablation.no-style",
    "discriminators": "--ablation.single-discriminator",
    "amp-window": "--style.frames",
}


@dataclass(frozen=True, kw_only=True)
class Command:
    run: Path | None = None
    """Directory of the new run; by default runs/ROBOT-PRESET-TIME."""
    resume: Path | None = None
    """Run directory to go on with. Its own settings apply; only --run.iterations may be raised."""
    continue_: Annotated[Path | None, tyro.conf.arg(name="continue")] = None
    """Small checkpoint to start a new run from. Its settings apply unless --preset is given."""
    iteration: int | None = None
    """With --resume: the checkpoint to go on from, instead of the newest."""
    explain: bool = False
    """Print where the preset departs from the paper, and stop."""
    config: Annotated[TrainConfig, tyro.conf.arg(name="")] = field(default_factory=TrainConfig)


def asked_preset(argv: list[str]) -> str | None:
    for k, word in enumerate(argv):
        if word == "--preset":
            return argv[k + 1] if k + 1 < len(argv) else ""
        if word.startswith("--preset="):
            return word.partition("=")[2]
    return None


def run(argv: list[str]) -> int:
    from ssr.learning import presets, runner
    from ssr.learning.distribution import starts_the_run, under_torchrun
    from ssr.learning.run_directory import default_path

    _refuse_what_follows(argv)
    name = asked_preset(argv)
    base = presets.preset(name) if name is not None else presets.preset("cpu")
    small = _path_after(argv, "--continue")
    if small is not None and name is None:
        base = runner.continued(small)
    command = tyro.cli(
        Command, prog="ssr train", description=DESCRIPTION, args=argv, default=Command(config=base)
    )
    if command.explain:
        print(presets.table(command.config.preset))
        return 0
    if command.resume is not None:
        given = {word.partition("=")[0] for word in argv if word.startswith("--")}
        refused = given - {"--resume", "--iteration", "--run.iterations"}
        if refused:
            raise UserError(
                f"--resume goes on with the run's own settings; leave out {', '.join(sorted(refused))}. "
                "For other settings start a new run with --continue."
            )
        longer = command.config.run.iterations if "--run.iterations" in given else None
        runner.resume(command.resume, iteration=command.iteration, iterations=longer)
        return 0
    config = runner.with_ranks(command.config)
    if command.run is None and under_torchrun():
        raise UserError("Under torchrun all ranks write to one directory: name it with --run.")
    path = runner.start(command.run or default_path(config), config, small=command.continue_)
    if starts_the_run():
        print(path)
    return 0


def _refuse_what_follows(argv: list[str]) -> None:
    for word in argv:
        flag = word.partition("=")[0].replace("_", "-")
        instead = FOLLOWS.get(flag.removeprefix("--network.").removeprefix("no-"))
        if flag.startswith("--network.") and instead is not None:
            raise UserError(f"{flag} follows from other settings. Use {instead}.")


def _path_after(argv: list[str], flag: str) -> Path | None:
    for k, word in enumerate(argv):
        if word == flag and k + 1 < len(argv):
            return Path(argv[k + 1])
        if word.startswith(f"{flag}="):
            return Path(word.partition("=")[2])
    return None

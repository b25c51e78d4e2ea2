"""`ssr train`: train a policy, resume a run, or continue from a small checkpoint."""

from __future__ import annotations

import time
from dataclasses import field
from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.errors import UserError
from ssr.learning.config import TrainConfig
from ssr.ranges import Within, settings

ELSEWHERE = {"--device", "--engine", "--env.engine"}  #: where a run may go on that began somewhere else

DESCRIPTION = """Train a policy. Presets: paper (the paper's numbers, GPU), cpu (two cores), smoke (seconds).

    ssr train --preset cpu                       a new run in runs/
    ssr train --preset cpu --env.num-envs 128    any setting can be changed
    ssr train --preset cpu --explain             where the preset departs from the paper, and why
    ssr train --recipe x2-cpu                    all stages of a recipe, from nothing to a shipped policy
    ssr train --recipe x2-cpu --run RUN          the same in RUN, from the first stage that is not done
    ssr train --resume RUN                       go on with a run, bit for bit
    ssr train --continue RUN/small.safetensors   a new run from a small checkpoint's weights
    torchrun --nnodes 2 --nproc-per-node 8 -m -- ssr.cli.main train --run DIR
                                                 on several machines

Ctrl-C saves and stops."""


@settings("--")
class Command:
    run: Path | None = None
    """Directory of the new run; by default runs/ROBOT-PRESET-TIME."""
    recipe: str | None = None
    """Shipped recipe, or the path of a TOML file: stages that run one after the other, unattended."""
    from_stage: str | None = None
    """With --recipe and --run: run this stage and those after it again."""
    resume: Path | None = None
    """Run directory to go on with. Its own settings apply; --run.iterations may be raised. With another
    --engine its weights go on in new worlds."""
    continue_: Annotated[Path | None, tyro.conf.arg(name="continue")] = None
    """Small checkpoint to start a new run from. Its settings apply unless --preset is given."""
    motion: Path | None = None
    """Reference motion made by `ssr motion build`; by default the robot's own, beside its TOML file."""
    iteration: Annotated[int | None, Within(0, 100_000_000)] = None
    """With --resume: the checkpoint to go on from, instead of the newest."""
    wandb: str | None = None
    """Project of Weights & Biases that gets the metrics as well, if the package wandb is there."""
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
    from ssr.learning import presets, runner, stages
    from ssr.learning.distribution import starts_the_run, under_torchrun
    from ssr.learning.run_directory import default_path

    name = asked_preset(argv)
    base = presets.preset(name) if name is not None else presets.preset("cpu")
    small = _path_after(argv, "--continue")
    if small is not None and name is None:
        base = runner.continued(small)
    command = arguments.parsed(
        Command,
        argv,
        prog="ssr train",
        description=DESCRIPTION,
        default=Command(config=base),
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    if command.explain:
        print(presets.table(command.config.preset))
        return 0
    if command.wandb:
        from ssr.learning import wandb_log

        wandb_log.ask_for(command.wandb)
    given = {word.partition("=")[0] for word in argv if word.startswith("--")}
    if command.recipe is not None:
        return _cook(command, given)
    if command.from_stage is not None:
        raise UserError("--from-stage goes with --recipe.")
    if command.resume is not None:
        refused = given - {"--resume", "--iteration", "--wandb", "--run.iterations", *ELSEWHERE}
        if refused:
            raise UserError(
                f"--resume goes on with the run's own settings; leave out {', '.join(sorted(refused))}. "
                "For other settings start a new run with --continue."
            )
        if stages.is_recipe_run(command.resume):
            if given & ELSEWHERE:
                raise UserError(
                    f"A recipe's run goes on where it was; leave out {', '.join(given & ELSEWHERE)}."
                )
            if "--run.iterations" in given:
                raise UserError("A recipe's stages say themselves when they end; leave out --run.iterations.")
            stages.resume(command.resume, print, command.iteration)
            return 0
        longer = command.config.run.iterations if "--run.iterations" in given else None
        runner.resume(
            command.resume,
            iteration=command.iteration,
            iterations=longer,
            device=command.config.device if "--device" in given else None,
            engine=command.config.env.engine if given & {"--engine", "--env.engine"} else None,
        )
        return 0
    config = runner.with_ranks(command.config)
    if command.run is None and under_torchrun():
        raise UserError("Under torchrun all ranks write to one directory: name it with --run.")
    path = runner.start(
        command.run or default_path(config), config, small=command.continue_, motion=command.motion
    )
    if starts_the_run():
        print(path)
    return 0


def _cook(command: Command, given: set[str]) -> int:
    """Run a recipe."""
    from ssr.learning import recipe, stages
    from ssr.learning.distribution import under_torchrun

    refused = given - {"--recipe", "--wandb", "--run", "--from-stage", "--seed", "--motion"}
    if refused:
        raise UserError(
            f"A recipe holds all settings; leave out {', '.join(sorted(refused))}. For others copy it, "
            "change the copy and give its path."
        )
    if command.run is None and (command.from_stage is not None or under_torchrun()):
        raise UserError("Name the run's directory with --run.")
    assert command.recipe is not None
    text = recipe.text_of(command.recipe)
    seed = command.config.seed if "--seed" in given else None
    chosen = recipe.read(text, Path(command.recipe).stem, seed)
    path = command.run or Path("runs") / f"{chosen.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    stages.run(path, chosen, text, from_stage=command.from_stage, motion=command.motion, say=print)
    return 0


def _path_after(argv: list[str], flag: str) -> Path | None:
    for k, word in enumerate(argv):
        if word == flag and k + 1 < len(argv):
            return Path(argv[k + 1])
        if word.startswith(f"{flag}="):
            return Path(word.partition("=")[2])
    return None

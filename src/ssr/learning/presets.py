"""Presets: `paper` is the paper; the others are the listed differences from it, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ssr.errors import unknown
from ssr.learning.config import TrainConfig
from ssr.networks.config import NARROW, NetworkWidths


@dataclass(frozen=True)
class Difference:
    """One setting that departs from the paper."""

    setting: str  #: dotted, as on the command line
    value: Any
    reason: str


WIDTHS = "narrower layers, same architecture: the paper's widths leave under 1k steps/s on two cores"
SMALL = "scaled down with the number of worlds"
BATCH = "batches are 16 times smaller than the paper's"
STAND = "standing still is a deep trap with small batches; fades to half as measured tracking rises"

CPU: tuple[Difference, ...] = (
    Difference("env.num_envs", 256, "what two cores step at full speed"),
    Difference("run.iterations", 10_000, "about eight hours on two cores"),
    Difference("camera.period", 5, "a 10 Hz camera: rendering is the dearest part of a step"),
    Difference("task.history", 5, "half the input of encoder and estimator; walking does not suffer"),
    Difference(
        "task.reference_starts", 0.5, "episodes begin in reference poses, so that walking is seen early"
    ),
    Difference(
        "task.terrain.falls_demote",
        True,
        "at a fall every 15 s levels rise past what is learned: gaps stood at level 9, and of level 10 and "
        "more 1 of 67 was crossed; demoted for falls too they sank to 3 and rose to 6 in 5 M steps",
    ),
    Difference(
        "task.termination.once_crossed", True, "except on slopes, a third of a tile is level ground behind it"
    ),
    Difference(
        "task.randomization.delays_in_turn",
        (0, 1, 2, 2, 2),
        "robots with the longest delay meet tiles that suit the others and fall: 7 % of them survived stairs "
        "down, of those without delay 93 %; with levels of their own 25 % and 97 %, so most worlds have it",
    ),
    Difference(
        "task.commands.fast_fraction",
        0.5,
        "Table 4 asks for a fast walk ahead in a tenth of the episodes on slopes: asked for 0.3, 0.6 and "
        "1.0 m/s, a policy of 41 M steps walked at 0.32, 0.54 and 0.75",
    ),
    Difference("task.bootstrap.progress", 2.0, STAND),
    Difference("task.bootstrap.stepping", 20.0, "without it the first gait is a shuffle, feet on the ground"),
    Difference("task.bootstrap.stall_distance", 2.0, STAND),
    Difference("task.bootstrap.posture_relief", 0.6, STAND),
    Difference(
        "schedule.bootstrap",
        (1.0, 0.5),
        f"{STAND}; without any it goes back to standing: tracking 0.88 → 0.49 in 90 iterations; at 0.3 it "
        "walks at 0.32 m/s when asked for 0.5",
    ),
    Difference(
        "schedule.ramp", (0.0, 1.0), "full randomization and sideways commands keep a beginner on the ground"
    ),
    *(
        Difference(f"network.{f.name}", getattr(NARROW, f.name), WIDTHS)
        for f in fields(NetworkWidths)
        if getattr(NARROW, f.name) != getattr(NetworkWidths(), f.name)
    ),
    Difference(
        "schedule.fade_iterations", 800, "backward and sideways walking is learned while much of it is on"
    ),
    Difference(
        "schedule.ramp_iterations",
        1600,
        "randomization costs speed: after 2.5 M steps a policy that had met a third of it (ramp and fade "
        "over 400) walked at 0.76 m/s when asked for 1.0, one that had met a tenth (1600 and 800) at 0.97",
    ),
    Difference("schedule.initial_std", 0.8, "enough to lift a foot, little enough to stay up"),
    Difference(
        "schedule.min_std", (0.7, 0.2), "with less noise at first it never lifts a foot and learns to stand"
    ),
    Difference(
        "schedule.max_std",
        (1.0, 0.25),
        "small batches let the entropy bonus inflate the noise without end; without its noise a policy that "
        "learned with std 0.46 walked at 0.68 m/s when asked for 1.0, 0.6 M steps with 0.25 made that 0.76",
    ),
    Difference("ppo.epochs", 3, "the update must not cost more than the steps it learns from"),
    Difference(
        "ppo.certain_latents",
        True,
        "samples of z^p moved the action by 0.10 rms, five times as much as a yaw command did",
    ),
    Difference(
        "ppo.average",
        0.9,
        "small batches leave the newest weights trembling: 58 % traversal on flat ground, averaged 80 %",
    ),
    Difference("ppo.bfloat16", True, "nearly halves the update where the processor has it"),
    Difference(
        "ppo.trace",
        0.85,
        f"{BATCH}: with this and the next row one iteration's gradient agrees 1.4 times as much with that of "
        "nine others",
    ),
    Difference("ppo.max_advantage", 3.0, "the largest 1 % of the advantages made up 38 % of their squares"),
    Difference(
        "ppo.same_spread",
        True,
        "falls from obstacles set the scale, advantages on flat ground had 0.28 times the spread of all; "
        "with this 0.79 m/s for 1.0 became 0.84 in 2.5 M steps, after 7 M without a change",
    ),
    Difference(
        "schedule.desired_kl",
        (0.02, 0.004),
        f"{BATCH}: 0.01 drives the learning rate to its floor; the last third settles",
    ),
    Difference("ppo.learning_rates", (3e-5, 1e-3), f"{BATCH}: noise in the KL must not stop learning"),
    Difference("schedule.entropy", (0.005, 0.001), "once it walks, footholds forgive little noise"),
    Difference("encoder.epochs", 1, "the update must not cost more than the steps it learns from"),
    Difference("encoder.minibatches", 2, "of 128 worlds over all ranks: smaller ones are spent on overhead"),
    Difference("imagination.capacity", 20_000, SMALL),
    Difference("imagination.batch_size", 1024, SMALL),
    Difference("imagination.gate_samples", 10_000, SMALL),
    Difference(
        "foothold.sigma",
        0.5,
        "with 0.0625 more than 60 % of the steps on stairs earn less than 0.05: nothing tells bad footholds "
        "from worse ones",
    ),
    Difference(
        "foothold.landing_rule", "lattice34", "144 samples per imagined foothold cost four times as much"
    ),
    Difference("style.replay", 4_000, SMALL),
    Difference("style.updates", 2, SMALL),
    Difference("style.batch_size", 128, SMALL),
)

SECONDS = "seconds, not hours"

SMOKE: tuple[Difference, ...] = (
    Difference("env.num_envs", 32, SECONDS),
    Difference("ranks", 1, SECONDS),
    Difference("run.iterations", 20, SECONDS),
    Difference("run.snapshot_iterations", 10, SECONDS),
    Difference("task.terrain.kinds", ("flat",), "the tiniest task"),
    Difference("task.termination.episode_seconds", 2.0, "returns of whole episodes within seconds"),
    Difference("network.expert_hidden", (64, 32), SECONDS),
    Difference("network.critic_hidden", (64, 32), SECONDS),
    Difference("network.discriminator_hidden", (64, 32), SECONDS),
)

PRESETS: dict[str, tuple[Difference, ...]] = {"paper": (), "cpu": CPU, "smoke": CPU + SMOKE}


def get(config: Any, setting: str) -> Any:
    """The value of a dotted setting."""
    for name in setting.split("."):
        config = getattr(config, name)
    return config


def with_setting(config: Any, setting: str, value: Any) -> Any:
    """`config` with one dotted setting changed."""
    name, _, rest = setting.partition(".")
    if not is_dataclass(config) or name not in {f.name for f in fields(config)}:
        raise AttributeError(setting)
    changed = with_setting(getattr(config, name), rest, value) if rest else value
    return replace(config, **{name: changed})  # type: ignore[type-var]


def preset(name: str) -> TrainConfig:
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    config: TrainConfig = TrainConfig(preset=name)
    for difference in PRESETS[name]:
        config = with_setting(config, difference.setting, difference.value)
    return config


def differences(name: str) -> list[tuple[str, Any, Any, str]]:
    """Setting, the paper's value, this preset's value and the reason, one row per setting."""
    paper, mine = TrainConfig(), preset(name)
    reasons = {d.setting: d.reason for d in PRESETS[name]}
    return [(setting, get(paper, setting), get(mine, setting), why) for setting, why in reasons.items()]


def table(name: str) -> str:
    """The differences as a Markdown table."""
    rows = [
        f"| `{setting}` | {_text(paper)} | {_text(mine)} | {why} |"
        for setting, paper, mine, why in differences(name)
    ]
    return "\n".join(("| setting | paper | " + name + " | why |", "|---|---|---|---|", *rows))


def _text(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(v) for v in value) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value}"


def document() -> str:
    """docs/presets.md."""
    return (
        "# Presets\n\n"
        "`paper` holds every number of the paper's Tables 3 to 10; where the paper is silent, the comments\n"
        "in the `config.py` of `src/ssr/learning`, `src/ssr/task` and `src/ssr/networks` say what was\n"
        "chosen. The other presets are the same method and the same code with the differences below. Any\n"
        "setting can be given on the command line, e.g. `ssr train --preset cpu --env.num-envs 128`;\n"
        "`ssr train --preset cpu --explain` prints its table.\n\n"
        f"## cpu: two cores\n\n{table('cpu')}\n\n"
        "## smoke: seconds, for tests\n\nOn top of `cpu`:\n\n"
        + "\n".join(("| setting | value | why |", "|---|---|---|"))
        + "\n"
        + "\n".join(f"| `{d.setting}` | {_text(d.value)} | {d.reason} |" for d in SMOKE)
        + "\n"
    )


if __name__ == "__main__":
    print(document(), end="")

"""Every key that training with SSR writes to metrics.jsonl, and what it says; other methods tell their own.

Recipes set conditions on them.
"""

from __future__ import annotations

from collections.abc import Collection

from ssr.errors import UserError, unknown
from ssr.learning import registry
from ssr.learning.config import TrainConfig
from ssr.task.rewards import ROWS
from ssr.terrain.registry import kind_named
from ssr.terrain.settings import TERRAIN_TYPES

STREAMS = ("locomotion", "foothold", "style")
CLOCKED = ("acting", "encoder", "encoding", "imagination", "physics", "ppo", "restarts", "rewards", "style")

#: A key with a word in braces stands for one key for each terrain type, reward stream and so on.
METRICS: dict[str, str] = {
    "iteration": "completed so far",
    "total_steps": "control steps of all worlds, all ranks and all stages",
    "wall_seconds": "spent in iterations, over all sittings",
    "iteration_seconds": "s",
    "steps_per_second": "control steps of all worlds per second",
    "peak_memory_mb": "of all ranks",
    "seconds/{part}": "s of an iteration spent in this part",
    "stage": "number of the recipe's stage, from 0",
    "tracking": "speed along the command ÷ commanded speed, where more than 0.3 m/s is asked for",
    "velocity_error": "m/s, likewise",
    "obeyed/{way}": "share of this part of the commands that is done, two seconds into an episode and later",
    "touchdowns_per_second": "of each foot",
    "falls_per_minute": "of each robot",
    "bad_worlds": "worlds that blew up, per control step",
    "overflows": "how often so far a world's contacts or constraints did not fit into the room for them",
    "power": "W, Σ|τ·q̇|",
    "safe_foothold_rate": "share of landings with more than 75 % of the sole supported",
    "safe_foothold_rate/{terrain}": "likewise, on one terrain type",
    "edge_sight/{terrain}": "correlation of decoded and true edges: 1 all seen, 0 a ramp is seen",
    "edge_sight/stairs/{flight}": "likewise, by the way the stairs go",
    "cadence/{terrain}": "steps per second of both feet, where walking is asked for",
    "speed/{terrain}": "m/s along the command, likewise; ÷ cadence: the length of a step",
    "style_reward/{terrain}": "mean r^s, 1 at best",
    "independent/{stream}": "share of a stream's advantage that the others do not explain",
    "independent/{stream}/{terrain}": "likewise, on one terrain type",
    "beyond_table_6": "share of what r^l pays and charges that is not Table 6",
    "beyond_table_6/{terrain}": "likewise, on one terrain type",
    "mean_support": "supported share of the sole at landings",
    "return/{stream}": "of episodes that ended",
    "mean_reward/{stream}": "per second",
    "reward/{row}": "weighted row of r^l, per second",
    "episode_steps": "control steps of episodes that ended",
    "level/{terrain}": "mean level of the worlds",
    "stairs_level/{flight}": "likewise on stairs, by the way they go",
    "reached_top/{terrain}": "share of the worlds that have crossed the hardest tile",
    "kl": "of the policy's change, per minibatch",
    "surrogate_loss": "PPO's",
    "value_loss": "summed over the critics",
    "clipped_share": "of the samples, whose ratio lies outside the clip range",
    "entropy": "of the policy, nats",
    "learning_rate": "PPO's, adapted to its KL",
    "std": "of the policy's actions, mean over joints",
    "encoder/{loss}": "part of the hybrid prediction loss, unweighted, of the weights that learn",
    "encoder_share/{loss}": "its share of the weighted sum",
    "active_latents": "dimensions of z^p that vary over the data",
    "foothold_rmse": "m, imagined against real footholds, before they are learned from",
    "foothold_rmse/{terrain}/{left}": "likewise, by control steps left to contact",
    "imagination_loss": "Eq. 1",
    "imagination_samples": "labelled swing steps ever seen",
    "discriminator_loss": "mean over the discriminators in use",
    "score_reference/{terrain}": "mean score of reference windows, 1 at best",
    "score_policy/{terrain}": "mean score of the policy's windows, −1 if all are told apart",
    "bootstrap": "share of the bootstrap terms that is on",
    "ramp": "how far the way to the whole task is: commands widen up to a third, then randomization rises",
}


#: Written by the training loop, whatever learns.
OF_THE_LOOP = (
    "iteration",
    "total_steps",
    "wall_seconds",
    "iteration_seconds",
    "steps_per_second",
    "peak_memory_mb",
    "overflows",
    "stage",
    "level/{terrain}",
    "stairs_level/{flight}",
    "reached_top/{terrain}",
)

#: Written only where the ablation leaves a discriminator, or the imagination of footholds.
OF_STYLE = ("style_reward/", "discriminator_loss", "score_")
OF_IMAGINATION = ("foothold_rmse", "imagination_")

#: Written only while at least one of these networks learns.
OF_LEARNING = {
    ("actor", "critics"): (
        "independent/",
        "kl",
        "surrogate_loss",
        "value_loss",
        "clipped_share",
        "entropy",
        "learning_rate",
    ),
    ("encoder", "decoders"): (
        *(
            f"encoder/{name}"
            for name in ("foot_maps", "base_map", "next_proprioception", "divergence", "edges")
        ),
        "encoder_share/",
        "active_latents",
    ),
    ("encoder", "decoders", "estimator"): ("encoder/velocity",),
    ("discriminators",): ("discriminator_loss", "score_"),
}


def metrics() -> dict[str, str]:
    """Every key of every algorithm in full, and what it says."""
    patterns = dict(METRICS)
    for name in registry.ALGORITHMS:
        patterns |= registry.method(name).measures()
    return _filled(patterns, TERRAIN_TYPES, STREAMS, single=True) | _filled(patterns, TERRAIN_TYPES, STREAMS)


def measured(config: TrainConfig, frozen: Collection[str] = ()) -> dict[str, str]:
    """The keys that a training with these settings and frozen networks can write, and what they say."""
    ablation = config.ablation
    terrains = tuple(dict.fromkeys(kind_named(kind).terrain_type for kind in config.task.terrain.kinds))
    method = registry.method(config.algorithm)
    patterns = {name: METRICS[name] for name in OF_THE_LOOP} | dict(method.measures(config))
    found = _filled(patterns, terrains, tuple(config.stream_weights()), ablation.single_discriminator)
    missing: tuple[str, ...] = OF_STYLE if ablation.no_style else ()
    if ablation.no_foothold or ablation.no_imagination:
        missing += OF_IMAGINATION
    for networks, names in OF_LEARNING.items():
        if set(networks) <= set(frozen):
            missing += names
    return {name: meaning for name, meaning in found.items() if not name.startswith(missing)}


def _filled(
    patterns: dict[str, str], terrains: tuple[str, ...], streams: tuple[str, ...], single: bool = False
) -> dict[str, str]:
    """single: one discriminator for all terrain types."""
    from ssr.learning.encoder_update import LOSSES
    from ssr.learning.landing_error import NAMES as SPAN_NAMES
    from ssr.learning.statistics import WAYS

    fillings = {
        "{stream}": streams,
        "{row}": ROWS,
        "{way}": WAYS,
        "{flight}": ("up", "down") if "stairs" in terrains else (),
        "{part}": CLOCKED,
        "{loss}": LOSSES,
        "{left}": SPAN_NAMES,
    }
    found: dict[str, str] = {}
    for pattern, meaning in patterns.items():
        names = [pattern]
        scored = ("all",) if single and pattern.startswith("score_") else terrains
        for place, words in (fillings | {"{terrain}": scored}).items():
            if place in pattern:
                names = [name.replace(place, word) for name in names for word in words]
        found |= dict.fromkeys(names, meaning)
    return found


def require_metric(name: str, config: TrainConfig, frozen: Collection[str], where: str) -> None:
    """A key that does not exist, or that these settings never write, is refused."""
    if name not in metrics():
        raise UserError(f"{where}: {unknown('metric', name, metrics())}")
    if name not in measured(config, frozen):
        raise UserError(
            f"{where}: {name} cannot be measured with its terrain kinds, ablation, algorithm and frozen "
            "networks."
        )

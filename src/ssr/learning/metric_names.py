"""Every key that training writes to metrics.jsonl, and what it says. Recipes set conditions on them."""

from __future__ import annotations

from functools import cache

from ssr.errors import UserError, unknown
from ssr.task.rewards import ROWS
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
    "touchdowns_per_second": "of each foot",
    "falls_per_minute": "of each robot",
    "bad_worlds": "worlds that blew up, per control step",
    "power": "W, Σ|τ·q̇|",
    "safe_foothold_rate": "share of landings with more than 75 % of the sole supported",
    "safe_foothold_rate/{terrain}": "likewise, on one terrain type",
    "edge_sight/{terrain}": "correlation of decoded and true edges: 1 all seen, 0 a ramp is seen",
    "cadence/{terrain}": "steps per second of both feet, where walking is asked for",
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
    "reached_top/{terrain}": "share of the worlds that have crossed the hardest tile",
    "kl": "of the policy's change, per minibatch",
    "surrogate_loss": "PPO's",
    "value_loss": "summed over the critics",
    "clipped_share": "of the samples, whose ratio lies outside the clip range",
    "entropy": "of the policy, nats",
    "learning_rate": "PPO's, adapted to its KL",
    "std": "of the policy's actions, mean over joints",
    "encoder/{loss}": "part of the hybrid prediction loss, unweighted",
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
    "ramp": "share of the randomization that is on",
}


@cache
def metrics() -> dict[str, str]:
    """Every key in full, and what it says."""
    from ssr.learning.encoder_update import LOSSES
    from ssr.learning.landing_error import NAMES as SPAN_NAMES

    fillings = {
        "{terrain}": (*TERRAIN_TYPES, "all"),
        "{stream}": STREAMS,
        "{row}": ROWS,
        "{part}": CLOCKED,
        "{loss}": LOSSES,
        "{left}": SPAN_NAMES,
    }
    found: dict[str, str] = {}
    for pattern, meaning in METRICS.items():
        names = [pattern]
        for place, words in fillings.items():
            if place in pattern:
                names = [name.replace(place, word) for name in names for word in words]
        found |= dict.fromkeys(names, meaning)
    return found


def require_metric(name: str, where: str) -> None:
    if name not in metrics():
        error = unknown("metric", name, metrics())
        raise UserError(f"{where}: {error}")

"""Every key that training writes to metrics.jsonl, and what it says. Recipes set conditions on them."""

from __future__ import annotations

from functools import cache

from ssr.errors import UserError, unknown
from ssr.task.rewards import ROWS
from ssr.terrain.settings import TERRAIN_TYPES

STREAMS = ("locomotion", "foothold", "style")
CLOCKED = ("acting", "encoder", "encoding", "imagination", "physics", "ppo", "restarts", "rewards", "style")

#: A key with {terrain}, {stream}, {row} or {part} stands for one key each.
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

    fillings = {
        "{terrain}": (*TERRAIN_TYPES, "all"),
        "{stream}": STREAMS,
        "{row}": ROWS,
        "{part}": CLOCKED,
        "{loss}": LOSSES,
    }
    found: dict[str, str] = {}
    for pattern, meaning in METRICS.items():
        place = next((place for place in fillings if place in pattern), None)
        names = [pattern] if place is None else [pattern.replace(place, word) for word in fillings[place]]
        found |= dict.fromkeys(names, meaning)
    return found


def require_metric(name: str, where: str) -> None:
    if name not in metrics():
        error = unknown("metric", name, metrics())
        raise UserError(f"{where}: {error}")

"""How far a run has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Counters:
    iteration: int = 0  #: completed so far
    total_steps: int = 0  #: control steps of all worlds on all ranks
    wall_seconds: float = 0.0  #: spent in iterations, over all sittings

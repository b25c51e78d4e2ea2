"""What the environment hands to whoever acts in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What is known before acting. n worlds, h frames of history, right before left."""

    history: Tensor  #: (n, h, P) noisy proprioception, oldest frame first; P = 72 for 21 joints
    depth: Tensor  #: (n, 36, 36) metres, the newest delivered camera frame
    depth_fresh: Tensor  #: (n,) bool, the frame is new since the last observation
    privileged: Tensor  #: (n, S) privileged state s, noise-free; S = 375
    guide: Tensor = field(default_factory=lambda: torch.zeros(0, 0))
    """(n, J) actions towards the reference motion that is followed; (n, 0) if none is. Not a number for legs
    that bear the robot: what they need is not where they go, but how hard they push."""
    scan: Tensor = field(default_factory=lambda: torch.zeros(0, 0))
    """(n, 209) exact heights about the base, as `ssr.vision.scan` lays them out and in the scale
    of the privileged state's; (n, 0) where nobody walks by them."""


@dataclass(frozen=True, kw_only=True)
class Feet:
    """Both feet after a step, tile frame."""

    contact: Tensor  #: (n, 2) bool, |F| > 1 N
    force: Tensor  #: (n, 2, 3) N
    position: Tensor  #: (n, 2, 3) sole centres
    yaw: Tensor  #: (n, 2)
    touchdown: Tensor  #: (n, 2) bool, first contact after the air


@dataclass(frozen=True, kw_only=True)
class Transition:
    """What a step did, before any world is restarted."""

    reward: Tensor  #: (n,) r^l · dt, clipped at 0 from below
    terms: Mapping[str, Tensor]  #: (n,) each row of Table 6(a), weighted, before · dt
    terminated: Tensor  #: (n,) bool, ended for good
    truncated: Tensor  #: (n,) bool, ended by time or by leaving a crossed tile: bootstrap
    valid: Tensor  #: (n,) bool, false where the world went non-finite: mask its samples
    privileged: Tensor  #: (n, S) of the state reached, also where the episode ended
    proprioception: Tensor  #: (n, P) clean, of the state reached
    amp_frame: Tensor  #: (n, 63) of the state reached
    feet: Feet  #: of the state reached
    base_position: Tensor  #: (n, 3)
    base_yaw: Tensor  #: (n,)
    terrain_type: Tensor  #: (n,) long, index into TERRAIN_TYPES
    level: Tensor  #: (n,) long
    among: Tensor  #: (n,) bool, obstacles lie all over the base height map
    omnidirectional: Tensor  #: (n,) bool, on the apron behind the top level
    power: Tensor  #: (n,) W, sum |τ·q̇| of the applied torque

    @property
    def ended(self) -> Tensor:
        """(n,) bool, terminated or truncated."""
        return self.terminated | self.truncated

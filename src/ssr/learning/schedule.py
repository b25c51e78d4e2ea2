"""When the bootstrap fades and randomization ramps up: by how well the robot walks."""

from __future__ import annotations

from ssr.learning.config import ScheduleConfig


class Schedule:
    """Two shares in [0, 1], moved once per iteration by measured tracking and survival."""

    def __init__(self, config: ScheduleConfig) -> None:
        self.config = config
        self.bootstrap = 1.0 if config.bootstrap else 0.0
        self.ramp = 0.0 if config.ramp else 1.0
        self.tracking = 0.0  #: smoothed speed along the command ÷ commanded speed
        self.survival = 0.0  #: smoothed share of the longest episodes that would be survived

    def advance(self, tracking: float, survival: float) -> None:
        """tracking and survival of one iteration."""
        config, s = self.config, self.config.smoothing
        self.tracking = s * self.tracking + (1.0 - s) * tracking
        self.survival = s * self.survival + (1.0 - s) * survival
        walking = self.tracking >= config.walking_ratio
        lost = self.tracking < config.losing_ratio
        if config.bootstrap:
            # The noise goes with the bootstrap, and much of the falling with the noise.
            if walking and self.survival >= config.fading_survival:
                self.bootstrap = max(config.min_bootstrap, self.bootstrap - 1.0 / config.fade_iterations)
            elif lost:
                self.bootstrap = min(1.0, self.bootstrap + 1.0 / config.fade_iterations)
        if config.ramp and walking and self.survival >= config.walking_survival:
            self.ramp = min(1.0, self.ramp + 1.0 / config.ramp_iterations)

    @property
    def fading(self) -> float:
        """How much of the bootstrap is still to go: 1 at first, 0 when it is at its least."""
        least = self.config.min_bootstrap
        return (self.bootstrap - least) / (1.0 - least) if least < 1.0 else 0.0

    def state_dict(self) -> dict[str, float]:
        return {k: getattr(self, k) for k in ("bootstrap", "ramp", "tracking", "survival")}

    def load_state_dict(self, state: dict[str, float]) -> None:
        for name, value in state.items():
            setattr(self, name, float(value))
        if self.config.bootstrap:
            self.bootstrap = max(self.bootstrap, self.config.min_bootstrap)

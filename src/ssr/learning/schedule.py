"""What changes while a policy learns: by how well the robot walks, or by how much of a run is over."""

from __future__ import annotations

from ssr.learning.config import Pair, ScheduleConfig
from ssr.task.commands import WIDE

WALKING = 0.6  #: speed along the command ÷ commanded speed that counts as walking, backwards and uphill too
LOST = 0.45  #: below it the bootstrap comes back
FADING_SURVIVAL = 0.05  #: share of the longest episodes survived from which the bootstrap fades
RAMPING_SURVIVAL = 0.1  #: and from which randomization ramps up: slopes alone cost three falls a minute
WIDENING = 200  #: iterations of walking over which commands widen, before the bootstrap fades
SMOOTHING = 0.9  #: of what is measured, per iteration
SETTLING = 2 / 3  #: share of a run after which its steps grow smaller


class Schedule:
    """Told once per iteration how well the robot walks and how much of the run is over."""

    def __init__(self, config: ScheduleConfig) -> None:
        self.config = config
        self.bootstrap = config.bootstrap[0]  #: share of the task's bootstrap terms
        self.ramp = config.ramp[0]  #: share of the way to the whole task: commands, then randomization
        self.tracking = 0.0  #: smoothed speed along the command ÷ commanded speed
        self.survival = 0.0  #: smoothed share of the longest episodes that would be survived
        self.progress = 0.0  #: share of the run that is over

    def advance(self, tracking: float, survival: float) -> None:
        """tracking and survival of one iteration."""
        config, s = self.config, SMOOTHING
        self.tracking = s * self.tracking + (1.0 - s) * tracking
        self.survival = s * self.survival + (1.0 - s) * survival
        walking = self.tracking >= WALKING
        first, last = config.bootstrap
        fade = (first - last) / config.fade_iterations
        wide, most = min(WIDE, config.ramp[1]), config.ramp[1]
        if walking and self.survival >= FADING_SURVIVAL:
            if self.ramp < wide:
                self.ramp = min(wide, self.ramp + WIDE / WIDENING)
            else:
                self.bootstrap = max(last, self.bootstrap - fade)
        elif self.tracking < LOST:
            self.bootstrap = min(first, self.bootstrap + fade)
        if walking and self.survival >= RAMPING_SURVIVAL and self.ramp >= wide:
            self.ramp = min(most, self.ramp + (1.0 - WIDE) / config.ramp_iterations)

    @property
    def fading(self) -> float:
        """How much of the bootstrap is still to go: 1 at first, 0 when it is at its least."""
        first, last = self.config.bootstrap
        return (self.bootstrap - last) / (first - last) if first > last else 0.0

    @property
    def entropy_coefficient(self) -> float:
        return _between(self.config.entropy, 1.0 - self.fading)

    @property
    def std_range(self) -> Pair:
        """Least and most of the policy's std: enough to lift a foot at first, little enough to walk later."""
        low, high = (_between(pair, 1.0 - self.fading) for pair in (self.config.min_std, self.config.max_std))
        return min(low, high), high

    @property
    def desired_kl(self) -> float:
        """Smaller steps over the last third of a run: small batches leave the policy trembling otherwise."""
        return _between(self.config.desired_kl, max(self.progress - SETTLING, 0.0) / (1.0 - SETTLING))

    def state_dict(self) -> dict[str, float]:
        return {k: getattr(self, k) for k in ("bootstrap", "ramp", "tracking", "survival")}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from another schedule's state, within the bounds of this one."""
        for name, value in state.items():
            setattr(self, name, float(value))
        for name in ("bootstrap", "ramp"):
            low, high = sorted(getattr(self.config, name))
            setattr(self, name, min(max(getattr(self, name), low), high))


def _between(pair: Pair, share: float) -> float:
    """From the first to the last of a pair; infinities only as such."""
    first, last = pair
    return first if first == last or share <= 0.0 else first + min(share, 1.0) * (last - first)

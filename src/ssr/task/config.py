"""Every number of the task. Defaults are the paper's, and ours where it is silent."""

from __future__ import annotations

from dataclasses import dataclass, field

from ssr.errors import UserError
from ssr.terrain.registry import kind_named, trained_kinds
from ssr.terrain.settings import LEVELS

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class CommandConfig:
    """Speeds of Tables 4 and 5."""

    slope_speed: Range = (-1.0, 1.0)  #: m/s, along slopes (Table 4) and forward on the apron (Table 5)
    obstacle_speed: Range = (0.0, 1.2)  #: m/s, along every other terrain
    lateral_speed: Range = (-0.4, 0.4)  #: m/s, to the left on the apron
    yaw_rate: Range = (-1.2, 1.2)  #: rad/s, on the apron
    zero_fraction: float = 0.2
    fast_fraction: float = 0.0
    """Share of episodes that ask for a fast walk straight on for as long as they stay on the tile; like the
    rest of Table 4, a beginner meets less of them."""

    def __post_init__(self) -> None:
        for name in ("zero_fraction", "fast_fraction"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"task.commands.{name} {getattr(self, name):g}: expected 0 to 1.")


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """The weights of Table 6(a), one field per row."""

    linear_velocity_tracking: float = 1.0
    angular_velocity_tracking: float = 0.8
    orientation: float = 0.5
    angular_velocity_xy: float = 0.25
    base_height: float = 0.4
    action_rate: float = -0.12
    smoothness: float = -0.06
    dof_velocity: float = -0.96
    dof_torque: float = -0.6
    dof_deviation: float = -1.8
    dof_position_limits: float = -1.5
    dof_velocity_limits: float = -6.0
    dof_torque_limits: float = -6.0
    stand_still: float = -0.12
    single_support: float = 0.2
    impact_velocity: float = -1.3
    contact_slippage: float = -0.2
    feet_air_time: float = -2.0
    feet_stumble: float = -2.0
    feet_lateral_distance: float = 0.08


@dataclass(frozen=True, kw_only=True)
class BootstrapConfig:
    """Terms that open the way to walking and fade out (`set_bootstrap`); all zero in the paper."""

    progress: float = 0.0  #: weight of speed along the command ÷ commanded speed, clipped to ±1
    stepping: float = 0.0  #: weight of each touchdown's air time beyond a shuffle, up to the target
    posture_relief: float = 0.0  #: share taken off orientation, height, angular-velocity and yaw terms
    stall_distance: float = 0.0  #: m; whenever so much was asked for and less than a quarter done, it is over


@dataclass(frozen=True, kw_only=True)
class RandomizationConfig:
    """Table 10, dynamics."""

    added_mass: Range = (-2.0, 12.5)  #: kg on the base
    base_com: Range = (-0.1, 0.1)  #: m
    link_mass: Range = (0.9, 1.1)
    link_com: Range = (-0.01, 0.01)  #: m
    motor_strength: Range = (0.8, 1.2)
    gains: Range = (0.9, 1.1)
    friction: Range = (0.2, 1.25)
    friction_rule: str = "average"  #: with the ground's 1.0, as PhysX does; or "direct"
    action_delay: tuple[int, int] = (0, 2)  #: control steps
    delays_in_turn: tuple[int, ...] = ()
    """Control steps. Worlds take these in turn and keep them, so that their levels come to suit them; while
    the ramp rises delays grow. Empty: every episode draws its own."""
    push_velocity: Range = (-0.4, 0.4)  #: m/s, every 12 s

    def __post_init__(self) -> None:
        low, high = self.action_delay
        if not 0 <= low <= high:
            raise UserError(f"Action delay {low} to {high} control steps: expected 0 or more, least first.")
        outside = [delay for delay in self.delays_in_turn if not low <= delay <= high]
        if outside:
            raise UserError(
                f"task.randomization.delays_in_turn holds {outside[0]}: expected {low} to {high}, as "
                "action_delay says. Give both; delays_in_turn without a number: every episode draws its own."
            )


@dataclass(frozen=True, kw_only=True)
class TerminationConfig:
    """When an episode is over besides a fall (A.7)."""

    episode_seconds: float = 20.0
    once_crossed: bool = False
    """Below the top level, cut the episode 0.5 m past the last edge, not at the tile's far end."""


@dataclass(frozen=True, kw_only=True)
class TerrainConfig:
    kinds: tuple[str, ...] = (
        "slope", "stairs_up", "discrete", "gap", "platform",
        "slope", "stairs_down", "discrete", "gap", "platform",
    )  # fmt: skip
    """Worlds take these in turn: five types in equal parts, stairs half up, half down."""
    first_level: int = 0
    falls_demote: bool = False
    """Falling, straying or standing still before the tile is crossed costs a level, not only slowness. Not on
    slopes, where the commands (backwards, sideways) are what most robots fall over."""

    def __post_init__(self) -> None:
        for kind in self.kinds or ("",):
            if not kind_named(kind).trained:
                raise UserError(
                    f"{kind} is for evaluation only; training may use {', '.join(trained_kinds())}."
                )
        if not 0 <= self.first_level < LEVELS:
            raise UserError(f"First terrain level {self.first_level}: expected 0 to {LEVELS - 1}.")


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    control_period: float = 0.02  #: s
    history: int = 10  #: frames of proprioception
    commands: CommandConfig = field(default_factory=CommandConfig)
    rewards: RewardConfig = field(default_factory=RewardConfig)
    bootstrap: BootstrapConfig = field(default_factory=BootstrapConfig)
    noise: float = 1.0  #: share of the noise on the policy's proprioception, `ssr.task.observations.NOISE`
    randomization: RandomizationConfig = field(default_factory=RandomizationConfig)
    termination: TerminationConfig = field(default_factory=TerminationConfig)
    terrain: TerrainConfig = field(default_factory=TerrainConfig)
    reference_starts: float = 0.0  #: share of episodes that begin in a pose of the reference motion

    def substeps(self, timestep: float) -> int:
        """Physics steps of `timestep` seconds in a control period, which they must fill."""
        steps = max(1, round(self.control_period / timestep))
        if abs(steps * timestep - self.control_period) > 1e-9:
            raise UserError(
                f"task.control_period {self.control_period:g} s: expected a multiple of {timestep:g} s, the "
                "timestep of the physics."
            )
        return steps

    def control_steps(self, seconds: float) -> int:
        return max(1, round(seconds / self.control_period))

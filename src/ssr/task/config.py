"""Every number of the task. Defaults are the paper's, and ours where it is silent."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from ssr.errors import UserError
from ssr.ranges import Share, Within, settings
from ssr.terrain.registry import kind_named, trained_kinds
from ssr.terrain.settings import LEVELS

Range = tuple[float, float]

Speeds = Annotated[Range, Within(-5.0, 5.0, rising=True)]
Offset = Annotated[Range, Within(-0.5, 0.5, rising=True)]
Factor = Annotated[Range, Within(0.1, 10.0, rising=True)]
Weight = Annotated[float, Within(-1000.0, 1000.0)]


@settings("task.commands")
class CommandConfig:
    """Speeds of Tables 4 and 5."""

    slope_speed: Speeds = (-1.0, 1.0)  #: m/s, along slopes (Table 4) and forward on the apron (Table 5)
    obstacle_speed: Speeds = (0.0, 1.2)  #: m/s, along every other terrain
    lateral_speed: Speeds = (-0.4, 0.4)  #: m/s, to the left on the apron
    yaw_rate: Speeds = (-1.2, 1.2)  #: rad/s, on the apron
    zero_fraction: Share = 0.2
    roaming_fraction: Share = 0.0
    """Share of episodes on flat ground and slopes that begin on the apron, with the commands of Table 5; like
    the rest of Table 4, a beginner meets less of them."""
    alone_fraction: Share = 0.0
    """Share of the commands of Table 5 that ask for one thing alone: going ahead or back, aside, obliquely,
    or a turn."""
    fast_fraction: Share = 0.0
    """Share of episodes that ask for a fast walk straight on for as long as they stay on the tile; like the
    rest of Table 4, a beginner meets less of them."""


@settings("task.rewards")
class RewardConfig:
    """The weights of Table 6(a), one field per row."""

    linear_velocity_tracking: Weight = 1.0
    angular_velocity_tracking: Weight = 0.8
    orientation: Weight = 0.5
    angular_velocity_xy: Weight = 0.25
    base_height: Weight = 0.4
    action_rate: Weight = -0.12
    smoothness: Weight = -0.06
    dof_velocity: Weight = -0.96
    dof_torque: Weight = -0.6
    dof_deviation: Weight = -1.8
    dof_position_limits: Weight = -1.5
    dof_velocity_limits: Weight = -6.0
    dof_torque_limits: Weight = -6.0
    stand_still: Weight = -0.12
    single_support: Weight = 0.2
    impact_velocity: Weight = -1.3
    contact_slippage: Weight = -0.2
    feet_air_time: Weight = -2.0
    feet_stumble: Weight = -2.0
    feet_lateral_distance: Weight = 0.08


@settings("task.bootstrap")
class BootstrapConfig:
    """Terms that open the way to walking and fade out (`set_bootstrap`); all zero in the paper."""

    progress: Weight = 0.0  #: weight of the share of the command that is done; who hurries has done less
    lasting_progress: Weight = 0.0
    """Least weight of that row, which stays when the rest has faded; so does the end of who stands still."""
    stepping: Weight = 0.0  #: weight of each touchdown's air time beyond a shuffle, up to the target
    imitation: Weight = 0.0  #: weight of joints near the reference motion, see `ssr.task.imitation`
    posture_relief: Share = 0.0  #: share taken off orientation, height, angular-velocity and yaw terms
    stall_distance: Annotated[float, Within(0.0, 100.0)] = 0.0
    """Metres; whenever so much was asked for and less than a quarter done, it is over."""


@settings("task.randomization")
class RandomizationConfig:
    """Table 10, dynamics."""

    added_mass: Annotated[Range, Within(-20.0, 60.0, rising=True)] = (-2.0, 12.5)  #: kg on the base
    base_com: Offset = (-0.1, 0.1)  #: m
    link_mass: Factor = (0.9, 1.1)
    link_com: Offset = (-0.01, 0.01)  #: m
    motor_strength: Factor = (0.8, 1.2)
    gains: Factor = (0.9, 1.1)
    friction: Annotated[Range, Within(0.0, 3.0, rising=True)] = (0.2, 1.25)
    friction_rule: str = "average"  #: with the ground's 1.0, as PhysX does; or "direct"
    action_delay: Annotated[tuple[int, int], Within(0, 10, rising=True)] = (0, 2)  #: control steps
    delays_in_turn: Annotated[tuple[int, ...], Within(0, 10)] = ()
    """Control steps. Worlds take these in turn and keep them, so that their levels come to suit them; while
    the ramp rises delays grow. Empty: every episode draws its own."""
    push_velocity: Annotated[Range, Within(-3.0, 3.0, rising=True)] = (-0.4, 0.4)  #: m/s, every 12 s

    def __post_init__(self) -> None:
        low, high = self.action_delay
        outside = [delay for delay in self.delays_in_turn if not low <= delay <= high]
        if outside:
            raise UserError(
                f"task.randomization.delays_in_turn holds {outside[0]}: expected {low} to {high}, as "
                "action_delay says. Give both; delays_in_turn without a number: every episode draws its own."
            )


@settings("task.termination")
class TerminationConfig:
    """When an episode is over besides a fall (A.7)."""

    episode_seconds: Annotated[float, Within(0.02, 1e9)] = 20.0
    once_crossed: bool = False
    """Below the top level, cut the episode 0.5 m past the last edge, not at the tile's far end."""


@settings("task.terrain")
class TerrainConfig:
    kinds: tuple[str, ...] = (
        "slope", "stairs_up", "discrete", "gap", "platform",
        "slope", "stairs_down", "discrete", "gap", "platform",
    )  # fmt: skip
    """Worlds take these in turn: five types in equal parts, stairs half up, half down."""
    first_level: Annotated[int, Within(0, LEVELS - 1)] = 0
    midway_starts: Share = 0.0
    """Share of the episodes that begin anywhere from the start to the middle of the obstacles, in poses of
    the reference that fit the place if episodes begin in such at all; they change no level."""
    falls_demote: bool = False
    """Falling, straying or standing still before the tile is crossed costs a level, not only slowness; and
    so does crossing it much faster than told."""

    def __post_init__(self) -> None:
        for kind in self.kinds or ("",):
            if not kind_named(kind).trained:
                raise UserError(
                    f"{kind} is for evaluation only; training may use {', '.join(trained_kinds())}."
                )


@settings("task")
class TaskConfig:
    control_period: Annotated[float, Within(0.001, 0.5)] = 0.02  #: s
    history: Annotated[int, Within(1, 100)] = 10  #: frames of proprioception
    commands: CommandConfig = field(default_factory=CommandConfig)
    rewards: RewardConfig = field(default_factory=RewardConfig)
    bootstrap: BootstrapConfig = field(default_factory=BootstrapConfig)
    noise: Annotated[float, Within(0.0, 10.0)] = 1.0
    """Share of the noise on the policy's proprioception, `ssr.task.observations.NOISE`."""
    randomization: RandomizationConfig = field(default_factory=RandomizationConfig)
    termination: TerminationConfig = field(default_factory=TerminationConfig)
    terrain: TerrainConfig = field(default_factory=TerrainConfig)
    reference_starts: Share = 0.0  #: share of episodes that begin in a pose of the reference motion

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

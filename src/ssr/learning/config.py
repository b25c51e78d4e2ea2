"""Every number of learning. Defaults are the paper's (Tables 6, 9); comments say where it is silent."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from ssr.errors import UserError
from ssr.learning import registry
from ssr.motion.frames import STRIDE
from ssr.networks.config import NetworkWidths
from ssr.physics import engines
from ssr.task.config import TaskConfig
from ssr.vision.camera import CameraConfig
from ssr.vision.support import landing_rule

Pair = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """Table 9: of all four optimizers; PPO's learning rate then follows its KL."""

    learning_rate: float = 5e-4
    max_gradient_norm: float = 1.0  #: of each network


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Table 9, PPO."""

    steps: int = 24  #: control steps per world and iteration
    epochs: int = 5
    minibatches: int = 4
    learning_rates: Pair = (1e-5, 1e-3)  #: least and most that the adaptation to the KL allows
    clip: float = 0.2  #: of ratio and of value change
    discount: float = 0.99  #: γ
    trace: float = 0.95  #: λ
    max_advantage: float = inf  #: standard deviations from the mean beyond which a stream's advantage is cut
    same_spread: bool = False  #: advantages of every terrain type get the same standard deviation
    average: float = 0.0  #: of the policy's weights, for shipping: the share kept per iteration; 0: none
    certain_latents: bool = False  #: the actor learns from the mean of z^p instead of a sample
    bfloat16: bool = False  #: matrix products of actor and critics

    def __post_init__(self) -> None:
        if not self.max_advantage > 0:
            raise UserError(f"ppo.max_advantage {self.max_advantage:g}: expected more than 0.")
        if not 0 <= self.average < 1:
            raise UserError(f"ppo.average {self.average:g}: expected 0 to less than 1.")


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Training of encoder and estimator (Table 9). The weights of the other parts of their loss stand in
    `ssr.learning.encoder_update`."""

    epochs: int = 5  #: the paper gives PPO's
    minibatches: int = 4  #: of whole worlds
    divergence: float = 1.0  #: weight of the VAE's KL


@dataclass(frozen=True, kw_only=True)
class ImaginationConfig:
    """The foothold imagination model (Eq. 1): buffer, training, and when its word counts."""

    capacity: int = 100_000  #: newest samples kept, over all ranks
    batch_size: int = 4096
    gate_samples: int = 25_000
    gate_rmse: float = 0.05  #: m, measured on a terrain type; at 0.10 E[ρ] has lost its contrast


@dataclass(frozen=True, kw_only=True)
class FootholdConfig:
    """The foothold reward r^f (Eq. 2, 3)."""

    sigma: float = 0.0625  #: σ_f
    gate_level: int = 5  #: terrain level from which the swing term counts
    landing_rule: str = "lattice144"  #: where E_q[ρ] is sampled


@dataclass(frozen=True, kw_only=True)
class StyleConfig:
    """Motion priors (Sec. 3.4, Table 9)."""

    stride: int = STRIDE
    """Control steps between the five frames of a window; beyond two, a frame is the mean of so many steps."""
    replay: int = 40_000  #: windows per discriminator, over all ranks
    updates: int = 20  #: per iteration
    batch_size: int = 1024  #: windows of each side per discriminator and update


@dataclass(frozen=True, kw_only=True)
class StreamWeights:
    """Advantage weights of Table 6."""

    locomotion: float = 1.0
    foothold: float = 0.25
    style: float = 0.2


@dataclass(frozen=True, kw_only=True)
class AblationConfig:
    """Sec. 4.1: one flag each, everything else equal."""

    no_foothold: bool = False  #: no r^f and no critic for it
    no_imagination: bool = False  #: r^f without its swing term
    no_symmetry: bool = False  #: plain encoder, no augmentation
    input_symmetry: bool = False  #: plain encoder; the mirrored input is encoded too, with its own memory
    no_style: bool = False  #: no r^s and no critic for it
    single_discriminator: bool = False  #: one discriminator for all terrains

    def __post_init__(self) -> None:
        if self.no_symmetry and self.input_symmetry:
            raise UserError("no_symmetry and input_symmetry exclude each other; choose one.")

    @property
    def equivariant(self) -> bool:
        return not (self.no_symmetry or self.input_symmetry)


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """What changes while a policy learns, as pairs: at first, at last. See `ssr.learning.schedule`."""

    bootstrap: Pair = (0.0, 0.0)  #: share of the task's bootstrap terms; fades while the robot walks
    fade_iterations: int = 200  #: of walking, from first to last
    ramp: Pair = (1.0, 1.0)  #: share of the randomization; rises while the robot walks
    ramp_iterations: int = 400
    entropy: Pair = (0.005, 0.005)  #: coefficient; goes with the bootstrap
    initial_std: float = 1.0  #: of the policy's actions
    min_std: Pair = (0.2, 0.2)  #: goes with the bootstrap
    max_std: Pair = (inf, inf)
    desired_kl: Pair = (0.01, 0.01)  #: goes over the last third of a run

    def __post_init__(self) -> None:
        for name in ("bootstrap", "ramp"):
            if not all(0 <= share <= 1 for share in getattr(self, name)):
                raise UserError(f"schedule.{name} {getattr(self, name)}: expected two shares, 0 to 1.")
        if self.bootstrap[0] < self.bootstrap[1] or self.ramp[0] > self.ramp[1]:
            raise UserError("schedule: expected a bootstrap that fades and a ramp that rises.")
        for name in ("initial_std", "min_std", "max_std", "desired_kl", "fade_iterations", "ramp_iterations"):
            value = getattr(self, name)
            if not all(number > 0 for number in (value if isinstance(value, tuple) else (value,))):
                raise UserError(f"schedule.{name} {value}: expected more than 0.")


@dataclass(frozen=True, kw_only=True)
class WorldsConfig:
    num_envs: int = 4096  #: over all ranks
    threads: int = 1  #: physics threads per rank
    engine: str = "mujoco"  #: of physics, a name of `ssr.physics.engines`


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    iterations: int = 20_000
    snapshot_iterations: int = 100  #: weights kept for later evaluation
    checkpoint_minutes: float = 10.0  #: between full checkpoints
    kept_checkpoints: int = 2


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    preset: str = "paper"
    algorithm: str = "ssr"  #: the learning method, a name of `ssr.learning.registry`
    robot: str = "x2"
    seed: int = 1
    ranks: int = 0  #: processes; 0 = one per core (CPU) or GPU
    device: str = "auto"  #: cpu, cuda, or auto
    env: WorldsConfig = field(default_factory=WorldsConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    camera: CameraConfig = field(default_factory=CameraConfig)
    network: NetworkWidths = field(default_factory=NetworkWidths)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    imagination: ImaginationConfig = field(default_factory=ImaginationConfig)
    foothold: FootholdConfig = field(default_factory=FootholdConfig)
    style: StyleConfig = field(default_factory=StyleConfig)
    streams: StreamWeights = field(default_factory=StreamWeights)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    ablation: AblationConfig = field(default_factory=AblationConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        """Settings that cannot work together are refused here, not hours into a run."""
        registry.check(self.algorithm)
        engines.check(self.env.engine)
        positive = {
            "env.num_envs": self.env.num_envs,
            "env.threads": self.env.threads,
            "ppo.steps": self.ppo.steps,
            "ppo.epochs": self.ppo.epochs,
            "ppo.minibatches": self.ppo.minibatches,
            "encoder.minibatches": self.encoder.minibatches,
            "style.stride": self.style.stride,
            "run.snapshot_iterations": self.run.snapshot_iterations,
        }
        for name, value in positive.items():
            if value < 1:
                raise UserError(f"{name} is {value}: expected at least 1.")
        if self.network.mirror_averaged and not self.ablation.equivariant:
            raise UserError(
                "network.mirror_averaged needs the equivariant encoder; with ablation.no_symmetry and "
                "ablation.input_symmetry give --network.no-mirror-averaged."
            )
        landing_rule(self.foothold.landing_rule)

    def check_worlds(self) -> None:
        """Enough worlds on every rank for whole minibatches; asked before training, not before acting."""
        worlds = self.env.num_envs // max(self.ranks, 1)
        if max(self.encoder.minibatches, self.ranks) > self.env.num_envs or self.encoder.minibatches > worlds:
            raise UserError(
                f"{self.env.num_envs} worlds on {self.ranks or 'all'} ranks: too few for "
                f"{self.encoder.minibatches} minibatches of whole worlds."
            )
        if self.ppo.minibatches > worlds * self.ppo.steps:
            raise UserError(f"ppo.minibatches is {self.ppo.minibatches}, but a rollout has too few samples.")

    def stream_weights(self) -> dict[str, float]:
        """The reward streams in use, in order. Dropping one is dropping a key."""
        weights = {"locomotion": self.streams.locomotion}
        if not self.ablation.no_foothold:
            weights["foothold"] = self.streams.foothold
        if not self.ablation.no_style:
            weights["style"] = self.streams.style
        return weights

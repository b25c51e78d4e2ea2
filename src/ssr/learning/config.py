"""Every number of learning. Defaults are the paper's (Tables 6, 9); comments say where it is silent."""

from __future__ import annotations

from dataclasses import field
from math import inf
from typing import Annotated

import tyro

from ssr.errors import UserError
from ssr.learning import registry
from ssr.motion.frames import STRIDE
from ssr.networks.config import NetworkWidths
from ssr.physics import engines
from ssr.ranges import Seed, Share, Within, settings
from ssr.task.config import TaskConfig
from ssr.terrain.settings import LEVELS
from ssr.vision.camera import CameraConfig
from ssr.vision.support import landing_rule

Pair = tuple[float, float]

Amount = Annotated[int, Within(1, 100_000_000)]
Iterations = Annotated[int, Within(1, 100_000_000)]
Weight = Annotated[float, Within(0.0, 100.0)]


@settings("optimizer")
class OptimizerConfig:
    """Table 9: of all four optimizers; PPO's learning rate then follows its KL."""

    learning_rate: Annotated[float, Within(0.0, 1.0)] = 5e-4
    max_gradient_norm: Annotated[float, Within(1e-6, 1e6)] = 1.0  #: of each network


@settings("ppo")
class PPOConfig:
    """Table 9, PPO."""

    steps: Annotated[int, Within(1, 10000)] = 24  #: control steps per world and iteration
    epochs: Annotated[int, Within(1, 1000)] = 5
    minibatches: Annotated[int, Within(1, 1_000_000)] = 4
    learning_rates: Annotated[Pair, Within(0.0, 1.0, rising=True)] = (1e-5, 1e-3)
    """Least and most that the adaptation to the KL allows."""
    clip: Annotated[float, Within(1e-3, 10.0)] = 0.2  #: of ratio and of value change
    discount: Share = 0.99  #: γ
    trace: Share = 0.95  #: λ
    max_advantage: Annotated[float, Within(1e-3, inf)] = inf
    """Standard deviations from the mean beyond which a stream's advantage is cut."""
    same_spread: bool = False  #: advantages of every terrain type get the same standard deviation
    average: Annotated[float, Within(0.0, 0.9999)] = 0.0
    """Of the policy's weights, for shipping: the share kept per iteration; 0: none."""
    certain_latents: bool = False  #: the actor learns from the mean of z^p instead of a sample
    bfloat16: bool = False  #: matrix products of actor and critics
    guidance: Annotated[float, Within(0.0, 100.0)] = 0.0
    """Weight of the actor's squared distance from actions that head for the reference motion, of joints that
    do not bear the robot, while the bootstrap is on and pays for imitation."""


@settings("encoder")
class EncoderConfig:
    """Training of encoder and estimator (Table 9). The weights of the other parts of their loss stand in
    `ssr.learning.encoder_update`."""

    epochs: Annotated[int, Within(1, 1000)] = 5  #: the paper gives PPO's
    minibatches: Annotated[int, Within(1, 1_000_000)] = 4  #: of whole worlds
    learning_rate: Annotated[float, Within(0.0, 1.0)] = 5e-4
    divergence: Annotated[float, Within(0.0, 1000.0)] = 1.0  #: weight of the VAE's KL
    average: Annotated[float, Within(0.0, 0.9999)] = 0.0
    """The weights that act, of SSR and PIM, follow those that learn: the share of them kept per iteration."""
    recalled: Annotated[int, Within(0, 100_000)] = 0
    """Minibatches of earlier rollouts that are kept, per rank; each new one is learned beside one of them.
    128 of sixteen worlds are 100 to 200 MB, in full checkpoints, too."""
    edges: Annotated[float, Within(0.0, 1000.0)] = 0.0
    """Weight, besides the base map's, of that map's error without its ramp: of treads, gaps and blocks."""


@settings("imagination")
class ImaginationConfig:
    """The foothold imagination model (Eq. 1): buffer, training, and when its word counts."""

    capacity: Amount = 100_000  #: newest samples kept, over all ranks
    batch_size: Amount = 4096
    gate_samples: Annotated[int, Within(0, 100_000_000)] = 25_000
    gate_rmse: Annotated[float, Within(0.0, 10.0)] = 0.05
    """Metres, measured on a terrain type; at 0.10 E[ρ] has lost its contrast."""


@settings("foothold")
class FootholdConfig:
    """The foothold reward r^f (Eq. 2, 3)."""

    sigma: Annotated[float, Within(1e-3, 100.0)] = 0.0625  #: σ_f
    gate_level: Annotated[int, Within(0, LEVELS)] = 5  #: terrain level from which the swing term counts
    landing_rule: str = "lattice144"  #: where E_q[ρ] is sampled


@settings("style")
class StyleConfig:
    """Motion priors (Sec. 3.4, Table 9)."""

    stride: Annotated[int, Within(1, 100)] = STRIDE
    """Control steps between the five frames of a window; beyond two, a frame is the mean of so many steps."""
    replay: Amount = 40_000  #: windows per discriminator, over all ranks
    updates: Annotated[int, Within(1, 10000)] = 20  #: per iteration
    batch_size: Amount = 1024  #: windows of each side per discriminator and update


@settings("streams")
class StreamWeights:
    """Advantage weights of Table 6."""

    locomotion: Weight = 1.0
    foothold: Weight = 0.25
    style: Weight = 0.2


@settings("ablation")
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


@settings("schedule")
class ScheduleConfig:
    """What changes while a policy learns, as pairs: at first, at last. See `ssr.learning.schedule`."""

    bootstrap: Annotated[Pair, Within(0.0, 1.0)] = (0.0, 0.0)
    """Share of the task's bootstrap terms; fades while the robot walks."""
    fade_iterations: Iterations = 200  #: of walking, from first to last
    ramp: Annotated[Pair, Within(0.0, 1.0, rising=True)] = (1.0, 1.0)
    """Share of the way to the whole task; rises while the robot walks: first commands widen, then
    randomization grows."""
    ramp_iterations: Iterations = 400
    entropy: Annotated[Pair, Within(0.0, 10.0)] = (0.005, 0.005)  #: coefficient; goes with the bootstrap
    initial_std: Annotated[float, Within(1e-3, 100.0)] = 1.0  #: of the policy's actions
    min_std: Annotated[Pair, Within(1e-3, 100.0)] = (0.2, 0.2)  #: goes with the bootstrap
    max_std: Annotated[Pair, Within(1e-3, inf)] = (inf, inf)
    desired_kl: Annotated[Pair, Within(1e-6, 10.0)] = (0.01, 0.01)  #: goes over the last third of a run

    def __post_init__(self) -> None:
        if self.bootstrap[0] < self.bootstrap[1]:
            raise UserError(f"schedule.bootstrap {self.bootstrap}: expected a share that fades.")


@settings("env")
class WorldsConfig:
    num_envs: Annotated[int, Within(1, 1_000_000)] = 4096  #: over all ranks
    threads: Annotated[int, Within(1, 1024)] = 1  #: physics threads per rank
    engine: Annotated[str, tyro.conf.arg(aliases=("--engine",))] = engines.AUTO
    """Of physics: mujoco (CPU), warp (CUDA, or slowly on a CPU), or auto: the one for the device."""


@settings("run")
class RunConfig:
    iterations: Iterations = 20_000
    snapshot_iterations: Iterations = 100  #: weights kept for later evaluation
    checkpoint_minutes: Annotated[float, Within(0.0, 1440.0)] = 10.0  #: between full checkpoints
    kept_checkpoints: Annotated[int, Within(1, 1000)] = 2


@settings("")
class TrainConfig:
    preset: str = "paper"
    algorithm: str = "ssr"  #: the learning method, a name of `ssr.learning.registry`
    robot: str = "x2"
    seed: Seed = 1
    ranks: Annotated[int, Within(0, 10000)] = 0  #: processes; 0 = one per core (CPU) or GPU
    device: str = "auto"  #: cpu, cuda, cuda:1 for one of several, or auto
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
        if self.network.mirror_averaged and not self.ablation.equivariant:
            raise UserError(
                "network.mirror_averaged needs the equivariant encoder; with ablation.no_symmetry and "
                "ablation.input_symmetry give --network.no-mirror-averaged."
            )
        landing_rule(self.foothold.landing_rule)
        if self.ppo.guidance > 0.0 and not (self.task.bootstrap.imitation and self.task.reference_starts):
            raise UserError(
                "ppo.guidance needs motion to follow: give task.bootstrap.imitation and "
                "task.reference_starts more than 0."
            )

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

"""Inverse kinematics with mink: the robot's own model follows the targets within its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mink
import mujoco
import numpy as np
from scipy.ndimage import gaussian_filter1d

from ssr.errors import UserError
from ssr.motion.kinematics import Kinematics
from ssr.motion.limbs import SIDES, Limbs, limbs
from ssr.motion.targets import FPS, Targets
from ssr.robots.spec import RobotSpec


@dataclass(frozen=True, kw_only=True)
class ErrorWeights:
    """How much a metre or a radian of each key point's error costs."""

    base_position: float = 10.0
    base_steadiness: float = 15.0  #: per metre by which the base leaves or rejoins its path within a frame
    base_orientation: float = 3.0
    torso_orientation: float = 3.0
    stance_position: float = 200.0
    stance_orientation: tuple[float, float, float] = (12.0, 60.0, 8.0)  #: roll, pitch, yaw of the sole
    swing_position: float = 15.0
    swing_orientation: tuple[float, float, float] = (1.0, 4.0, 1.0)
    knee: float = 2.0
    elbow: float = 2.0
    hand: float = 4.0
    posture: float = 0.03
    pace: float = 0.3  #: per radian by which a joint leaves the pace it had, within a frame
    damping: float = 1e-3


@dataclass(frozen=True, kw_only=True)
class SolverSettings:
    weights: ErrorWeights = ErrorWeights()
    iterations: int = 3  #: per frame, from the frame before
    start_iterations: int = 10  #: per frame of the run-up, which begins in the default pose
    run_up: int = 25  #: frames gone through backwards before the first
    angle_margin: float = 0.03  #: rad kept from every joint limit
    velocity_share: float = 0.9  #: of each joint's velocity limit
    persistence: float = 0.8  #: of a joint's pace that it is expected to keep from frame to frame


class StepLimit(mink.Limit):
    """Keeps joints inside their range and within reach of the frame before: |q - q_before| ≤ v_max dt."""

    def __init__(self, model: mujoco.MjModel, dofs: np.ndarray, lower: np.ndarray, upper: np.ndarray):
        self.dofs, self.addresses = dofs, model.jnt_qposadr[model.dof_jntid[dofs]]
        self.lower, self.upper = lower, upper
        rows = np.eye(model.nv)[dofs]
        self.matrix = np.vstack((rows, -rows))
        self.before: np.ndarray | None = None
        self.reach = np.zeros(len(dofs))

    def compute_qp_inequalities(self, configuration: mink.Configuration, dt: float) -> mink.Constraint:
        q = configuration.q[self.addresses]
        lower, upper = self.lower, self.upper
        if self.before is not None:
            lower = np.maximum(lower, self.before - self.reach)
            upper = np.minimum(upper, self.before + self.reach)
        return mink.Constraint(G=self.matrix, h=np.concatenate((upper - q, q - lower)))


class PointsTask(mink.Task):
    """Bring several points of the robot to points of the world; costs are per point, errors in world axes."""

    def __init__(self, model: mujoco.MjModel, points: list[tuple[int, np.ndarray]], costs: list[float]):
        super().__init__(cost=np.repeat(np.asarray(costs, dtype=float), 3))
        self.points = points  #: body id and offset in that body's frame
        self.target = np.zeros((len(points), 3))
        self.jacobian = np.zeros((3 * len(points), model.nv))

    def positions(self, data: mujoco.MjData) -> np.ndarray:
        return np.stack([data.xpos[b] + data.xmat[b].reshape(3, 3) @ offset for b, offset in self.points])

    def compute_error(self, configuration: mink.Configuration) -> np.ndarray:
        return (self.positions(configuration.data) - self.target).ravel()

    def compute_jacobian(self, configuration: mink.Configuration) -> np.ndarray:
        for k, ((body, _), position) in enumerate(
            zip(self.points, self.positions(configuration.data), strict=True)
        ):
            rows = self.jacobian[3 * k : 3 * k + 3]
            mujoco.mj_jac(configuration.model, configuration.data, rows, None, position, body)
        return self.jacobian


class Solver:
    """One robot's inverse kinematics; all of it is symmetric, so mirrored targets give mirrored motion."""

    def __init__(self, robot: RobotSpec, settings: SolverSettings | None = None):
        self.robot = robot
        self.settings = settings or SolverSettings()
        self.kinematics = Kinematics(robot)
        self.model = self.kinematics.model
        self.limbs: Limbs = limbs(robot, self.model)
        self.addresses = self.kinematics.addresses
        dofs = np.array([self.model.joint(name).dofadr[0] for name in robot.joint_names])
        lower, upper = symmetric_limits(robot, self.settings.angle_margin)
        owners = [self.model.body(self.model.joint(name).bodyid[0]).name for name in robot.joint_names]
        for body in self.limbs.knee_bodies:
            one_way(lower, upper, owners.index(body), self.settings.angle_margin)
        self.limit = StepLimit(self.model, dofs, lower, upper)
        self.limit.reach = robot.values("max_velocity") * self.settings.velocity_share / FPS
        self._make_tasks(dofs)

    def _make_tasks(self, dofs: np.ndarray) -> None:
        w = self.settings.weights
        frame = mink.FrameTask
        self.base = frame(
            self.robot.base_link,
            "body",
            position_cost=w.base_position,
            orientation_cost=w.base_orientation,
        )
        self.steady = frame(
            self.robot.base_link, "body", position_cost=w.base_steadiness, orientation_cost=0.0
        )
        self.torso = frame(
            self.robot.torso_link, "body", position_cost=0.0, orientation_cost=w.torso_orientation
        )
        self.soles = [frame(f"{s}_sole", "site", position_cost=1.0, orientation_cost=1.0) for s in SIDES]
        self.swing_turn, self.stance_turn = np.array(w.swing_orientation), np.array(w.stance_orientation)
        m = self.model
        body = lambda name: (m.body(name).id, np.zeros(3))
        site = lambda name: (int(m.site(name).bodyid[0]), m.site(name).pos.copy())
        self.points = PointsTask(
            m,
            [body(b) for b in (*self.limbs.knee_bodies, *self.limbs.elbow_bodies)]
            + [site(f"{s}_hand") for s in SIDES],
            [w.knee] * 2 + [w.elbow] * 2 + [w.hand] * 2,
        )
        cost = np.zeros(self.model.nv)
        cost[dofs] = w.posture
        self.posture = mink.PostureTask(self.model, cost=cost)
        self.pace = mink.PostureTask(self.model, cost=cost * (w.pace / w.posture))
        self.tasks = [self.base, self.steady, self.torso, *self.soles, self.points, self.posture, self.pace]

    def default_configuration(self) -> np.ndarray:
        q = self.model.qpos0.copy()
        q[self.addresses] = self.robot.values("default")
        return q

    def solve(self, targets: Targets, progress: Callable[[int], None] = lambda frame: None) -> np.ndarray:
        """(T, nq) configurations of the robot's model that follow `targets`."""
        q = self.default_configuration()
        q[:3], q[3:7] = targets.base_position[0], targets.base_quaternion[0]
        configuration = mink.Configuration(self.model, q=q)
        self.posture.set_target(q)
        self.limit.before = None
        # A foot gains its stance's weight shortly before it lands, so that the body is where it must be then.
        bearing = np.maximum(gaussian_filter1d(targets.stance.astype(float), 2.0, axis=0), targets.stance)
        # Coming to the first frame from later ones leaves a bad guess of the arms behind on the way.
        for t in range(min(self.settings.run_up, targets.frames - 1), -1, -1):
            self._follow(configuration, targets, t, bearing[t], start=True)
        out = np.empty((targets.frames, self.model.nq))
        for t in range(targets.frames):
            self._follow(configuration, targets, t, bearing[t], start=False)
            out[t] = configuration.q
            expected = configuration.q.copy()
            expected[self.addresses] += (
                self.settings.persistence * (out[t] - out[max(t - 1, 0)])[self.addresses]
            )
            self.pace.set_target(expected)
            self.limit.before = configuration.q[self.addresses].copy()
            progress(t)
        return out

    def _follow(
        self, configuration: mink.Configuration, targets: Targets, t: int, bearing: np.ndarray, start: bool
    ) -> None:
        """Bring the configuration to frame t.

        A base that had to leave its path keeps the path's pace and comes back over several frames.
        """
        if start:
            self.pace.set_target(configuration.q)
        base = targets.base_position[t] if start or t == 0 else configuration.q[:3]
        pace = targets.base_position[t] - targets.base_position[t - 1] if t and not start else np.zeros(3)
        self._aim(targets, t, bearing, base + pace)
        settings = self.settings
        for _ in range(settings.start_iterations if start else settings.iterations):
            configuration.integrate_inplace(self._step(configuration, t), 1.0)

    def _step(self, configuration: mink.Configuration, t: int) -> np.ndarray:
        try:
            return mink.solve_ik(
                configuration,
                self.tasks,
                dt=1.0,
                solver="daqp",
                damping=self.settings.weights.damping,
                limits=[self.limit],
            )
        except mink.MinkError as error:
            raise UserError(
                f"{self.robot.name} cannot follow the motion at {t / FPS:.2f} s: {error}."
            ) from None

    def point_positions(self, configurations: np.ndarray) -> np.ndarray:
        """(T, 6, 3) knees, elbows and hands, right before left, world frame."""
        data = mujoco.MjData(self.model)
        out = np.empty((len(configurations), 6, 3))
        for t, q in enumerate(configurations):
            data.qpos[:] = q
            mujoco.mj_kinematics(self.model, data)
            out[t] = self.points.positions(data)
        return out

    def _aim(self, targets: Targets, t: int, bearing: np.ndarray, steady_base: np.ndarray) -> None:
        w = self.settings.weights
        pose = lambda q, p: mink.SE3(np.concatenate((q, p)))
        self.base.set_target(pose(targets.base_quaternion[t], targets.base_position[t]))
        self.steady.set_target(pose(targets.base_quaternion[t], steady_base))
        self.torso.set_target(pose(targets.torso_quaternion[t], np.zeros(3)))
        for side in range(2):
            sole, share = self.soles[side], bearing[side]
            sole.set_position_cost(w.swing_position ** (1.0 - share) * w.stance_position**share)
            sole.set_orientation_cost(self.swing_turn ** (1.0 - share) * self.stance_turn**share)
            sole.set_target(pose(targets.sole_quaternion[t, side], targets.sole_position[t, side]))
        self.points.target[:] = np.concatenate(
            (targets.knee_position[t], targets.elbow_position[t], targets.hand_position[t])
        )


def symmetric_limits(robot: RobotSpec, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """The part of every joint's range that its mirror partner shares, `margin` rad inside."""
    lower, upper = robot.values("lower"), robot.values("upper")
    source, sign = np.array(robot.joint_mirror.source), np.array(robot.joint_mirror.sign)
    ends = np.stack((lower[source] * sign, upper[source] * sign))
    return np.maximum(lower, ends.min(0)) + margin, np.minimum(upper, ends.max(0)) - margin


def one_way(lower: np.ndarray, upper: np.ndarray, knee: int, margin: float) -> None:
    """Keep a knee that can bend both ways on the side it bends further to, `margin` rad from straight.

    Going through straight it would snap: near there a leg's length hardly depends on the knee.
    """
    if upper[knee] > -lower[knee]:
        lower[knee] = max(lower[knee], margin)
    else:
        upper[knee] = min(upper[knee], -margin)

"""The robot in MuJoCo, one millisecond at a time, seen and moved only as a real one is: by names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import mujoco
import numpy as np

from ssr import rotation
from ssr.errors import UserError
from ssr.physics.world import PhysicsConfig, build_world, show_tile
from ssr.ranges import Within, settings
from ssr.rehearsal.config import GantryConfig
from ssr.rehearsal.motors import Motors
from ssr.robots.spec import RobotSpec
from ssr.task.starts import CLEARANCE
from ssr.terrain.tile import Tile

STEP = 0.001  #: s, of physics, joint states and commands


@settings("noise")
class SensorNoise:
    """Half-widths of uniform noise. A real encoder never reads the same twice."""

    joint_position: Annotated[float, Within(0.0, 1.0)] = 1e-4  #: rad
    joint_velocity: Annotated[float, Within(0.0, 10.0)] = 0.01  #: rad/s
    angular_velocity: Annotated[float, Within(0.0, 10.0)] = 0.01  #: rad/s
    tilt: Annotated[float, Within(0.0, 1.0)] = 0.0  #: rad, of the orientation's roll and pitch


class SimulatedRobot:
    """Joints are reported in an order of the robot's own: sorted by name, the locked ones included."""

    def __init__(
        self,
        robot: RobotSpec,
        tile: Tile,
        *,
        seed: int = 0,
        gantry: GantryConfig | None = None,
        noise: SensorNoise | None = None,
    ) -> None:
        if tile.loose:
            raise UserError(f"{tile.kind}: nothing lies loose under the simulated robot; try `ssr eval`.")
        self.robot, self.tile = robot, tile
        self.gantry, self.noise = gantry or GantryConfig(), noise or SensorNoise()
        self.rng = np.random.default_rng(seed)
        spec = build_world(robot, len(tile.boxes), PhysicsConfig(timestep=STEP, arena_megabytes=8.0))
        show_tile(spec, tile)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.motors = Motors(robot)
        self._name_everything()
        self._put_down()

    def _name_everything(self) -> None:
        model, robot = self.model, self.robot
        joints = [model.joint(name) for name in robot.joint_names]
        self._qpos = np.array([int(j.qposadr[0]) for j in joints])
        self._qvel = np.array([int(j.dofadr[0]) for j in joints])
        self._actuator = np.array([model.actuator(name).id for name in robot.joint_names])
        self.joint_names = tuple(sorted((*robot.joint_names, *robot.locked_joints)))
        self._reported = np.array([self.joint_names.index(name) for name in robot.joint_names])
        links = tuple(dict.fromkeys(shape.link for shape in robot.shapes))
        self.link_names, self._links = links, np.array([model.body(name).id for name in links])
        self._sensor = {
            model.sensor(i).name: slice(
                int(model.sensor_adr[i]), int(model.sensor_adr[i] + model.sensor_dim[i])
            )
            for i in range(model.nsensor)
        }
        self._soles = [model.site(f"{side}_sole").id for side in ("right", "left")]

    def _put_down(self) -> None:
        """In the default pose at the tile's start, on the ground or hanging above it."""
        ground = float(
            self.tile.heights(np.array([[self.tile.start + dx, 0.0] for dx in (-0.1, 0, 0.1)])).max()
        )
        self._standing_height = ground + self.robot.standing_height + CLEARANCE
        self._hanging = self.gantry.mode != "none"
        lift = self.gantry.lift if self._hanging else 0.0
        self._hook = np.array([self.tile.start, 0.0, self._standing_height + lift])
        self.place(self._hook, self.robot.values("default"))
        self._stiff_since: float | None = None

    def place(self, position: Sequence[float] | np.ndarray, joints: np.ndarray, yaw: float = 0.0) -> None:
        """Set the robot somewhere, at rest."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:3] = position
        self.data.qpos[3:7] = rotation.about(rotation.Z, yaw)
        self.data.qpos[self._qpos] = joints
        mujoco.mj_forward(self.model, self.data)

    @property
    def time(self) -> float:
        return float(self.data.time)

    # ---- motion -----------------------------------------------------------------------------------------

    def step(self) -> None:
        """One millisecond."""
        motors, model, data, actuator = self.motors, self.model, self.data, self._actuator
        motors.update(self.time)
        stiffness = motors.stiffness * motors.stiffness_scale
        model.actuator_gainprm[actuator, 0] = stiffness
        model.actuator_biasprm[actuator, 1] = -stiffness
        model.actuator_biasprm[actuator, 2] = -motors.damping * motors.damping_scale
        data.ctrl[actuator] = motors.position
        data.qfrc_applied[self._qvel] = motors.effort
        self._hoist()
        mujoco.mj_step(model, data)
        if self._hanging:
            self._hang()

    def push(self, forward: float, left: float) -> None:
        """Add to the base velocity, m/s, in the tile's axes."""
        self.data.qvel[:2] += (forward, left)

    def _hoist(self) -> None:
        """Let the robot down once it has been stiff for a while."""
        if not self._hanging or self.gantry.mode == "hold":
            return
        if not self.motors.stiffness.any():
            self._stiff_since = None
            return
        if self._stiff_since is None:
            self._stiff_since = self.time
        if self.time - self._stiff_since > self.gantry.stiff_seconds:
            self._hook[2] -= self.gantry.lowering * STEP
            self._hanging = bool(self._hook[2] > self._standing_height)

    def _hang(self) -> None:
        self.data.qpos[:3] = self._hook
        self.data.qpos[3:7] = (1.0, 0.0, 0.0, 0.0)
        self.data.qvel[:6] = 0.0

    # ---- sensors ----------------------------------------------------------------------------------------

    def joint_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position (rad), velocity (rad/s), torque (N m) in the order of `joint_names`."""
        noise = lambda width: self.rng.uniform(-width, width, len(self._qpos))
        position, velocity, torque = (np.zeros(len(self.joint_names)) for _ in range(3))
        position[self._reported] = self.data.qpos[self._qpos] + noise(self.noise.joint_position)
        velocity[self._reported] = self.data.qvel[self._qvel] + noise(self.noise.joint_velocity)
        torque[self._reported] = self.data.actuator_force[self._actuator]
        return position, velocity, torque

    def attitude(self) -> tuple[np.ndarray, np.ndarray]:
        """Orientation (w, x, y, z) of the base link and its angular velocity in its own axes (rad/s)."""
        rate = self.data.qvel[3:6] + self.rng.uniform(-1.0, 1.0, 3) * self.noise.angular_velocity
        turned = self.data.qpos[3:7].copy()
        if self.noise.tilt:
            roll, pitch = self.rng.uniform(-self.noise.tilt, self.noise.tilt, 2)
            small = np.array([1.0, roll / 2, pitch / 2, 0.0])
            turned = rotation.multiply(turned, rotation.normalize(small))
        return turned, rate

    def link_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (L, 3) and quaternions (L, 4) of `link_names`."""
        return self.data.xpos[self._links].copy(), self.data.xquat[self._links].copy()

    def truth(self) -> Truth:
        force = lambda name: float(np.linalg.norm(self.data.sensordata[self._sensor[name]]))
        return Truth(
            position=self.data.qpos[:3].copy(),
            quaternion=self.data.qpos[3:7].copy(),
            body_force=max(force("base_force"), force("torso_force")),
            lowest_sole=float(self.data.site_xpos[self._soles, 2].min()),
            hanging=self._hanging,
        )


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What only a simulator knows."""

    position: np.ndarray  #: (3,) m, of the base in the tile's frame
    quaternion: np.ndarray  #: (4,) w, x, y, z
    body_force: float  #: N on base or torso
    lowest_sole: float  #: m
    hanging: bool

    @property
    def yaw(self) -> float:
        return float(rotation.yaw(self.quaternion))

"""`DepthCamera`: every world's depth camera, with its own mounting and frame rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.ranges import Within, settings
from ssr.robots.spec import RobotSpec, Shape
from ssr.rotation.tensors import multiply, rotate
from ssr.terrain.field import TerrainField
from ssr.vision.mounting import CameraOffsets, constant, mount_position, mount_quaternion
from ssr.vision.renderer import DepthRenderer
from ssr.vision.sensor import SensorConfig, sense

POSITION_ERROR = 0.01  #: m, ± on each axis (Table 10)
TURN_ERROR = 1.0  #: degrees, ± about each axis (Table 10)
FOV_ERROR = 1.0  #: degrees, ± of the field of view, horizontal and vertical (Table 10)


def error_widths(share: float) -> tuple[float, float, float]:
    """Largest mounting errors of position (m), turn and field of view (rad) at this share of Table 10."""
    return share * POSITION_ERROR, share * math.radians(TURN_ERROR), share * math.radians(FOV_ERROR)


@settings("camera")
class CameraConfig:
    """A RealSense D435i whose images are shrunk and then cropped to their centre (Appendix D).

    What the sensor is stands here once and is no setting: the robot carries this one.
    """

    width: ClassVar[int] = 36  #: columns kept
    height: ClassVar[int] = 36  #: rows kept
    sensor_pixels: ClassVar[tuple[int, int]] = (640, 360)  #: columns, rows before shrinking
    sensor_fov: ClassVar[tuple[float, float]] = (87.0, 58.0)  #: degrees, horizontal and vertical
    shrink: ClassVar[int] = 10  #: sensor pixels per image pixel, each way
    near: ClassVar[float] = 0.1  #: m
    far: ClassVar[float] = 3.0  #: m

    period: Annotated[int, Within(1, 1000)] = 1  #: control steps from one frame to the next
    randomization: Annotated[float, Within(0.0, 10.0)] = 1.0  #: share of the mounting errors of Table 10
    sensor: SensorConfig = field(default_factory=SensorConfig)

    @property
    def fov(self) -> tuple[float, float]:
        """Horizontal and vertical field of view (rad) of what is left after cropping."""
        kept = (self.width, self.height)
        horizontal, vertical = (
            2.0 * math.atan(math.tan(math.radians(full) / 2) * pixels * self.shrink / total)
            for full, pixels, total in zip(self.sensor_fov, kept, self.sensor_pixels, strict=True)
        )
        return horizontal, vertical


class DepthCamera:
    """The cameras of n worlds, fixed to the robot's base link.

    Each control step: `reset` the worlds that start anew, then `capture` all. `image` (n, H, W) is what each
    robot sees: z-depth in metres, row 0 on top, column 0 on the left; `age` (n,) int64 the control steps
    since it was taken. `offsets` holds the mounting errors drawn at the last reset. `links`: the order of
    link poses. `generator` draws offsets, phases and sensor noise; whoever owns it saves it. `random_phase`:
    worlds take their frames at different steps. `beside`: shapes that it sees beside the robot's, on links of
    their own.
    """

    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        config: CameraConfig | None = None,
        *,
        links: Sequence[str],
        generator: torch.Generator,
        threads: int = 0,
        device: torch.device | str = "cpu",
        beside: Sequence[Shape] = (),
    ) -> None:
        self.robot, self.num_envs, self.config = robot, num_envs, config or CameraConfig()
        config = self.config
        if robot.base_link not in links:
            raise UserError(
                f"{robot.name}: the camera sits on the base link {robot.base_link!r}, which carries "
                "no shape; give it one."
            )
        self.device = torch.device(device)
        self.generator, self.random_phase = generator, True
        self.renderer = DepthRenderer(
            (*robot.shapes, *beside), links, config.height, config.width, config.near, config.far,
            device=self.device, threads=max(threads, 1),
        )  # fmt: skip
        self._base = list(links).index(robot.base_link)
        whole = lambda: torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        shape = (num_envs, config.height, config.width)
        self.image = torch.full(shape, config.far, device=self.device)
        self.clock = whole()  #: control steps; a frame is taken where the period divides it
        self.age = whole()
        self._new = torch.zeros(
            num_envs, dtype=torch.bool, device=self.device
        )  #: reset since the last capture
        self._all = torch.arange(num_envs, device=self.device)
        self.offsets = CameraOffsets.none(num_envs, self.device)
        floats = lambda size: torch.empty(num_envs, size, device=self.device)
        self._position, self._quaternion, self._tan_half_fov = floats(3), floats(4), floats(2)
        self._mount(self._all)

    # ---- mounting ---------------------------------------------------------------------------------------

    def set_offsets(self, offsets: CameraOffsets) -> None:
        """Mount the cameras of all worlds like this."""
        for mine, given in zip(self._offset_tensors(), vars(offsets).values(), strict=True):
            mine.copy_(given)
        self._mount(self._all)

    def _offset_tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.offsets.position, self.offsets.turn, self.offsets.field_of_view

    def _draw_offsets(self, env_ids: Tensor, ramp: float, only: Tensor | None = None) -> None:
        """only: (n,) bool, if `env_ids` are all worlds but not all of them are meant."""
        position, turn, fov = error_widths(self.config.randomization)
        widths = (*(position,) * 3, *(turn,) * 3, *(fov,) * 2)
        unit = torch.rand(len(env_ids), len(widths), generator=self.generator, device=self.device) * 2.0 - 1.0
        drawn = (ramp * unit * constant(widths, unit)).split((3, 3, 2), dim=-1)
        for mine, values in zip(self._offset_tensors(), drawn, strict=True):
            if only is None:
                mine[env_ids] = values
            else:
                mine.copy_(torch.where(only.unsqueeze(-1), values, mine))
        self._mount(env_ids)

    def _mount(self, env_ids: Tensor) -> None:
        """Pose in the base frame and field of view that follow from the offsets."""
        offsets = self.offsets.select(env_ids)
        self._position[env_ids] = mount_position(self.robot.camera, offsets)
        self._quaternion[env_ids] = mount_quaternion(self.robot.camera, offsets)
        fov = offsets.field_of_view + constant(self.config.fov, offsets.field_of_view)
        self._tan_half_fov[env_ids] = torch.tan(fov / 2)

    # ---- frames -----------------------------------------------------------------------------------------

    def reset(
        self, env_ids: Tensor, terrain: TerrainField, link_position: Tensor, link_quaternion: Tensor,
        ramp: float = 1.0,
    ) -> None:  # fmt: skip
        """Mount the cameras of `env_ids` (m,) anew and take their first frame, which is seen at once.

        Link poses (n, L, 3), (n, L, 4) of all worlds, tile frames. `ramp`: share of the randomization ranges.
        """
        if len(env_ids) == 0:
            return
        self._draw_offsets(env_ids, ramp)
        phases = self.config.period if self.random_phase else 1
        self.clock[env_ids] = torch.randint(
            phases, (len(env_ids),), generator=self.generator, device=self.device
        )
        self.image[env_ids] = self._take(env_ids, terrain, link_position, link_quaternion)
        self.age[env_ids] = 0
        self._new[env_ids] = True

    def capture(self, terrain: TerrainField, link_position: Tensor, link_quaternion: Tensor) -> Tensor:
        """One control step for all worlds; frames are taken where they are due.

        Returns (n,) bool: the worlds whose `image` is another one than before.
        """
        period, fresh = self.config.period, self._new.clone()
        self.clock += ~fresh
        self.age += ~fresh
        due = (self.clock % period == 0) & ~fresh
        env_ids = self._all if period == 1 and not bool(fresh.any()) else due.nonzero()[:, 0]
        if len(env_ids):
            self.image[env_ids] = self._take(env_ids, terrain, link_position, link_quaternion)
            self.age[env_ids] = 0
        self._new.zero_()
        return fresh | due

    def look(
        self, restarted: Tensor, terrain: TerrainField, link_position: Tensor, link_quaternion: Tensor,
        ramp: float = 1.0,
    ) -> Tensor:  # fmt: skip
        """`reset` of the worlds of a mask (n,) and `capture` in one, without asking a device anything: what
        they need is drawn for all worlds. Of the Warp renderer only."""
        self._draw_offsets(self._all, ramp, only=restarted)
        phases = self.config.period if self.random_phase else 1
        phase = torch.randint(phases, self.clock.shape, generator=self.generator, device=self.device)
        self.clock.copy_(torch.where(restarted, phase, self.clock + 1))
        due = restarted | (self.clock % self.config.period == 0)
        image = self._take(self._all, terrain, link_position, link_quaternion, only=due)
        self.image.copy_(torch.where(due.view(-1, 1, 1), image, self.image))
        self.age.copy_(torch.where(due, 0, self.age + 1))
        return due

    def _take(
        self, env_ids: Tensor, terrain: TerrainField, link_position: Tensor, link_quaternion: Tensor,
        only: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """only: (m,) bool, the images that are meant; the others are anything."""
        base_position = link_position[env_ids, self._base]
        base_quaternion = link_quaternion[env_ids, self._base]
        mount = self._position[env_ids].to(base_position)
        frames = self.renderer.render(
            base_position + rotate(base_quaternion, mount),
            multiply(base_quaternion, self._quaternion[env_ids].to(base_quaternion)),
            self._tan_half_fov[env_ids],
            terrain.boxes,
            terrain.count,
            link_position,
            link_quaternion,
            env_ids if only is None else torch.where(only, env_ids, -1),
        )
        return sense(frames, self.config.sensor, self.config.near, self.config.far, self.generator)

    # ---- saving -----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """All that later images depend on, apart from the generator."""
        return {name: tensor.cpu().clone() for name, tensor in self._state().items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self._state().items():
            tensor.copy_(state[name])
        self._mount(self._all)

    def _state(self) -> dict[str, Tensor]:
        return {
            "image": self.image,
            "clock": self.clock,
            "age": self.age,
            "new": self._new,
            "position": self.offsets.position,
            "turn": self.offsets.turn,
            "field_of_view": self.offsets.field_of_view,
        }

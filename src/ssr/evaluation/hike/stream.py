"""Streamed ground: the boxes around a robot are laid anew as it walks, without a pause and without a seam."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import numpy as np
import torch

from ssr.physics.streaming import WORLD, StreamedWorld
from ssr.task import starts
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation
from ssr.terrain.field import TerrainField
from ssr.terrain.tile import Tile
from ssr.terrain.trail import Surroundings

POOL = 160  #: boxes around a robot, at most
SIGHTS = 1500  #: blades of grass likewise
STRIDE = 1.5  #: m from where the ground was laid, after which it is laid anew
FRAME = (8.0, 0.0, 0.0)  #: m, where a robot stands in a new frame
FAR = 32.0  #: m from a frame's beginning, beyond which a new one begins


class Stream:
    """The ground of one world. `origin` (3,): where the world's frame begins on the route.

    Frames begin anew every few metres, so that float32 stays as exact far away as at the start.
    """

    def __init__(self, route: Surroundings, env: TraversalEnv, pool: int = POOL) -> None:
        self.route, self.env, self.world = route, env, StreamedWorld(env.simulator)
        self.origin = np.zeros(3)
        self.laid = np.full(2, np.inf)  #: route frame, where the ground was laid
        self.renewals = 0
        if env.camera is not None:
            env.shown = TerrainField(1, pool + SIGHTS)

    def place(self, local: np.ndarray) -> np.ndarray:
        """Route frame, of a point (3,) of the world's frame."""
        return local + self.origin

    def begin(self, place: np.ndarray) -> None:
        """Ground for a robot that is put down at (3,) on the route, in a new frame."""
        self.origin = np.round(place - np.array(FRAME))
        self._lay(place)

    def height(self, x: float, y: float) -> float:
        """Of the route at a place, m."""
        return float(self.route.around((x, y), (0.0, 0.0, 0.0)).heights(np.array([[x, y]]))[0])

    def stand(self, x: float, y: float, heading: float, ramp: float = 0.0) -> Observation:
        """Put the robot down there, still and looking along `heading`; what it then sees.

        ramp: share of the camera's randomization.
        """
        env = self.env
        self.begin(np.array([x, y, self.height(x, y)]))
        local = np.array([x, y, 0.0]) - self.origin
        points = [[local[0] + dx * cos(heading), local[1] + dx * sin(heading)] for dx in starts.REACH]
        ground = float(env.field.heights(torch.tensor([points])).max())
        height = env.robot.standing_height
        still = starts.default_pose(height, env.limits, 1, lambda *shape: np.zeros((1, *shape)))
        place = [[local[0], local[1], ground + height + starts.CLEARANCE]]
        pose = replace(
            still,
            base_position=torch.tensor(place).float(),
            base_quaternion=torch.tensor([[cos(heading / 2), 0.0, 0.0, sin(heading / 2)]]).float(),
        )
        env.start(WORLD, pose)
        env.progress.omnidirectional.fill_(True)  # so that `commands.free` is what counts
        if env.camera is not None:
            env.camera.reset(WORLD, env.shown, *env.simulator.link_poses(), ramp=ramp)
        env.restart(torch.zeros(1, dtype=torch.bool))
        env.history[:] = env.history[:, -1:]  # of what was before it knows nothing
        return env.observation()

    def renew(self) -> bool:
        """Lay the ground anew if the robot has walked on far enough; whether that was done."""
        local = self.world.position
        place = self.place(local)
        if not np.hypot(*(place[:2] - self.laid)) > STRIDE:
            return False
        if np.abs(local).max() > FAR:
            shift = np.round(local - np.array(FRAME))  # whole metres: nothing is lost in rounding
            self._shift(shift)
        self._lay(place)
        self.renewals += 1
        return True

    def _shift(self, shift: np.ndarray) -> None:
        """Another frame; the robot stays where it is. What is read of it is right after its next step."""
        self.world.shift(shift)
        self.origin = self.origin + shift

    def _lay(self, place: np.ndarray) -> None:
        tile = self.route.around((float(place[0]), float(place[1])), self.origin.tolist())
        self.world.lay(lambda: self.env.place(WORLD, [tile]))
        self.tile = tile  #: in the world's frame
        self._show(tile)
        self.laid = place[:2].copy()

    def _show(self, tile: Tile) -> None:
        if self.env.camera is not None:
            self.env.shown.place([0], [tile.seen()])

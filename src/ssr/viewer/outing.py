"""On and on: a robot on ground without an end, led along its way, put up again where it fell."""

from __future__ import annotations

import numpy as np

from ssr.evaluation.hike.stream import WORLD, Stream
from ssr.evaluation.hike.walk import BACK, SAME, TRIES
from ssr.evaluation.waypoints import Way, command
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation
from ssr.terrain.registry import kind_named
from ssr.terrain.route import HALF_LANE
from ssr.terrain.settings import SLOPE, TERRAIN_TYPES
from ssr.terrain.strip import STRIP_POOL
from ssr.terrain.tile import Tile
from ssr.terrain.trail import AHEAD, OpenField, Trail

Command = tuple[float, float, float]  #: forward, left (m/s), turn to the left (rad/s); base frame

BEGIN = 0.5  #: m on the way, where it begins
ASIDE = 0.5  #: m beyond the lane's side, after which it has strayed
SIGHT = 18.0  #: m around the robot that are shown
RENEWED = 2.0  #: m, after which it is looked up anew what is shown


class Outing:
    """Places are in the landscape's frame, whose beginning the world's own frame leaves behind."""

    def __init__(self, landscape: Trail | OpenField, env: TraversalEnv) -> None:
        self.landscape, self.env = landscape, env
        self.stream = Stream(landscape, env, STRIP_POOL)
        self.trail = landscape if isinstance(landscape, Trail) else None
        self._way = None if self.trail is None else Way(self.trail.route.way)
        self.done = BEGIN  #: m on the way
        self.place, self.yaw = np.zeros(3), 0.0  #: of the base
        self.falls: list[float] = []  #: where on the way, m
        self._shown_at = np.full(2, np.inf)
        self._shown: dict[str, Tile] = {}

    # ---- standing up ------------------------------------------------------------------------------------

    def begin(self) -> Observation:
        """Another robot, at the start."""
        self.env.randomize(WORLD)
        self.done = BEGIN
        return self._stand(np.array([BEGIN, 0.0]), 0.0)

    def again(self) -> Observation:
        """The same robot, up again before the place of its fall, or behind it if it falls there always."""
        if self._way is None or self.trail is None:
            return self._stand(self.place[:2], self.yaw)
        self.falls.append(self.done)
        at = max(self.done - BACK, BEGIN)
        if sum(abs(other - self.done) < SAME for other in self.falls) >= TRIES:
            at = next(piece.end for piece in self.trail.route.pieces if piece.end > self.done + 0.1)
        self.done = at
        return self._stand(self._way.at(at), self._way.heading(at))

    def _stand(self, place: np.ndarray, heading: float) -> Observation:
        x, y = place.tolist()
        seen = self.stream.stand(x, y, heading, self.env.ramp)
        self.note()
        return seen

    # ---- going on ---------------------------------------------------------------------------------------

    def renew(self) -> None:
        """Ground ahead; before each control step."""
        self.stream.renew()
        if self.trail is not None and self.trail.reach(self.done + AHEAD):
            self._way = Way(self.trail.route.way)
            self._shown_at[:] = np.inf

    def lead(self, asked: Command, follow: bool) -> Command:
        """What the robot is told: as asked, and along the way if somebody leads it."""
        if self._way is None or not follow:
            return asked
        forward, _, turn = command(self._way, self.done, self.place[:2], self.yaw, asked[0])
        return forward, asked[1], asked[2] + turn

    def note(self) -> bool:
        """Where it is now; whether it has just left a piece behind."""
        reading = self.env.simulator.readout.reading
        self.place = self.stream.place(reading.base_position[0].astype(np.float64))
        self.yaw = float(reading.yaw[0])
        if self._way is None or self.trail is None:
            return False
        before, self.done = self.done, self._way.nearest(self.place[:2], self.done)
        return any(before < piece.end <= self.done for piece in self.trail.route.pieces)

    @property
    def strayed(self) -> bool:
        if self._way is None:
            return False
        away = np.linalg.norm(self.place[:2] - self._way.at(self.done))
        return bool(away > HALF_LANE + ASIDE)

    # ---- what lies there --------------------------------------------------------------------------------

    @property
    def piece(self) -> str:
        """What it walks on: `stairs up 13 / 32 cm`."""
        piece = None if self.trail is None else self.trail.piece_at(self.done)
        return "level ground" if piece is None else piece.title

    @property
    def inclined(self) -> bool:
        piece = None if self.trail is None else self.trail.piece_at(self.done)
        return piece is None or kind_named(piece.kind).terrain_type == TERRAIN_TYPES[SLOPE]

    def scenery(self) -> dict[str, Tile]:
        if np.hypot(*(self.place[:2] - self._shown_at)) > RENEWED:
            x, y = self._shown_at = self.place[:2].copy()
            self._shown = self.landscape.scenery((float(x), float(y)), SIGHT)
        return self._shown

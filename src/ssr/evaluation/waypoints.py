"""An operator who leads robots along a way: only speed and heading, as somebody at the controls would."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssr.terrain.tile import Point

AHEAD = 0.9  #: m on the way from the robot to where the operator looks
TURN_GAIN = 1.2  #: 1/s
FASTEST_TURN = 1.0  #: rad/s
SEARCH = 3.0  #: m on the way within which a robot is looked for again


class Way:
    """A line through points (m,), by metres from its beginning."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = np.array(points, dtype=np.float64)
        steps = np.diff(self.points, axis=0)
        self.marks = np.concatenate([[0.0], np.cumsum(np.hypot(*steps.T))])

    @property
    def length(self) -> float:
        return float(self.marks[-1])

    def at(self, distance: float) -> np.ndarray:
        """(2,) the point so many metres on; the last one beyond the end."""
        return np.array([np.interp(distance, self.marks, column) for column in self.points.T])

    def heading(self, distance: float) -> float:
        before, behind = self.at(max(distance - 0.05, 0.0)), self.at(min(distance + 0.05, self.length))
        return float(np.arctan2(*(behind - before)[::-1]))

    def nearest(self, place: np.ndarray, around: float) -> float:
        """Metres on the way to the point closest to `place` (2,), at most `SEARCH` m from `around`."""
        low, high = max(around - SEARCH, 0.0), min(around + SEARCH, self.length)
        tries = np.arange(low, high + 0.05, 0.05)
        points = np.stack([np.interp(tries, self.marks, column) for column in self.points.T], axis=-1)
        return float(tries[np.argmin(((points - place) ** 2).sum(axis=-1))])


def command(way: Way, done: float, place: np.ndarray, yaw: float, speed: float) -> tuple[float, float, float]:
    """Forward, left (m/s) and turn (rad/s), base frame, for a robot at (2,) `done` metres on its way.

    Whoever looks the wrong way turns first; nobody is asked to walk sideways. At the end all stop.
    """
    if done >= way.length - 0.1:
        return 0.0, 0.0, 0.0
    aim = way.at(done + AHEAD) - place
    wrong = float((np.arctan2(aim[1], aim[0]) - yaw + np.pi) % (2 * np.pi) - np.pi)
    turn = float(np.clip(TURN_GAIN * wrong, -FASTEST_TURN, FASTEST_TURN))
    return speed * max(float(np.cos(wrong)), 0.0), 0.0, turn

"""A recording becomes clips of the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.ndimage import maximum_filter1d

from ssr.motion import ground as terrain
from ssr.motion.clip import Clip, Column, make_clip
from ssr.motion.contacts import runs
from ssr.motion.ground import Ground
from ssr.motion.posture import smooth
from ssr.motion.quality import MAX_ACCELERATION, MAX_PENETRATION, base_acceleration, judge, sole_corners
from ssr.motion.recording import Recording, at_control_rate, at_tempo
from ssr.motion.scaling import scaled
from ssr.motion.solver import Solver
from ssr.motion.targets import FPS, Targets
from ssr.terrain.tile import Box

LONGEST, PIECE = 12.0, 8.0  #: s; a longer recording is judged, and kept or left out, in pieces of about this
MOMENT, SHORTEST_WAIT, STAND = (
    0.3,
    0.4,
    1.5,
)  #: s: of a wait that is kept, at least left out, a clip of its own
AROUND_FAULT, BETWEEN_FAULTS = (
    0.2,
    1.5,
)  #: s: left out with a fault on either side, least worth keeping between two
SUNK = 0.006  #: m, deeper soles are aimed higher and solved again
SHAKING = 40.0  #: m/s², with more acceleration the base is aimed along its smoothed path and solved again


def retarget(
    solver: Solver,
    recording: Recording,
    *,
    column: Column = "forward",
    ground: Ground = "auto",
    progress: Callable[[int], None] = lambda frame: None,
) -> list[Clip]:
    """The robot of `solver` doing what `recording` shows; each clip says in `quality` whether it may be used.

    Lengths shrink with the legs and time with the root of that (`at_tempo`).
    """
    at_rate = at_control_rate(at_tempo(recording, solver.limbs.leg))
    targets = scaled(at_rate, solver.limbs, ground)
    q = solve_well(solver, targets, progress)
    return [
        make_clip(
            solver.kinematics,
            q[rows],
            name=name,
            column=column,
            synthetic=False,
            quality=judge(name, solver, targets[rows], q[rows]),
            boxes=targets.boxes,
        )
        for name, rows, column in _pieces(recording.name, q, solver, column, targets.boxes)
    ]


def solve_well(
    solver: Solver, targets: Targets, progress: Callable[[int], None] = lambda frame: None
) -> np.ndarray:
    """(T, nq) the solver's answer, aimed anew where it is poor, twice at most.

    Where a sole is left in the ground it is aimed higher; where the base jerks because the legs could not
    follow, it is aimed along its own smoothed path, which they can.
    """
    q = solver.solve(targets, progress)
    for _ in range(2):
        sunk = _sunk(q, solver, targets.boxes)
        shaking = base_acceleration(q[:, :3]).max(initial=0.0) > SHAKING
        if sunk.max() < SUNK and not shaking:
            break
        lift = smooth(maximum_filter1d(np.minimum(1.2 * sunk, 0.05), 5, axis=0, mode="nearest"), 0.02)
        sole = targets.sole_position.copy()
        sole[..., 2] += lift
        base = smooth(q[:, :3], 0.06) if shaking else targets.base_position
        targets = replace(targets, sole_position=sole, base_position=base)
        q = solver.solve(targets, progress)
    return q


def _sunk(q: np.ndarray, solver: Solver, boxes: tuple[Box, ...]) -> np.ndarray:
    """(T, 2) how deep each sole lies in the ground, m."""
    corners = sole_corners(solver.kinematics.trajectories(q), solver.limbs.sole_half)
    return terrain.depth(boxes, corners).max(-1)


def _pieces(
    name: str, q: np.ndarray, solver: Solver, column: Column, boxes: tuple[Box, ...]
) -> list[tuple[str, slice, Column]]:
    """What of (T, nq) configurations becomes a clip: moving stretches, long ones cut into about equal pieces.

    People wait before and after what they show. Waiting longer than a moment is left out; on flat ground a
    long wait is a clip of its own, in the column of standing. A moment in which a sole sinks or the base
    jerks is a piece of its own, so that it does not spoil what is around it.
    """
    faulty = _sunk(q, solver, boxes).max(1) > MAX_PENETRATION
    faulty[1:-1] |= base_acceleration(q[:, :3]) > MAX_ACCELERATION
    still = runs(_still(q, solver))
    waits = [(a, b) for a, b in still if b - a > (2 * MOMENT + SHORTEST_WAIT) * FPS]
    margin = round(MOMENT * FPS)
    edges = [0]
    for a, b in waits:
        edges += [0 if a == 0 else a + margin, len(q) if b == len(q) else b - margin]
    edges.append(len(q))
    moving = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > FPS]
    if not moving:
        return [(name, slice(0, len(q)), column)]
    cuts = [part for a, b in moving for part in _cut(a, b, faulty)]
    label = lambda k: name if len(cuts) == 1 else f"{name}/{k + 1}"
    out = [(label(k), slice(a, b), column) for k, (a, b) in enumerate(cuts)]
    stands = [(a + margin, b - margin) for a, b in waits if not boxes and b - a - 2 * margin > STAND * FPS]
    return out + [(f"{name}/stand{k + 1}", slice(a, b), "stand") for k, (a, b) in enumerate(stands)]


def _still(q: np.ndarray, solver: Solver) -> np.ndarray:
    """(T,) bool: neither base nor any joint moves worth mentioning."""
    base = np.linalg.norm(np.gradient(q[:, :3], 1.0 / FPS, axis=0), axis=-1)
    joints = np.abs(np.gradient(q[:, solver.addresses], 1.0 / FPS, axis=0)).max(-1)
    return (smooth(base, 0.1) < 0.08) & (smooth(joints, 0.1) < 0.6)


def _cut(start: int, end: int, faulty: np.ndarray) -> list[tuple[int, int]]:
    """A stretch as it is or in about equal pieces, the surroundings of faults apart from the rest."""
    spoilt = maximum_filter1d(faulty[start:end], 1 + 2 * round(AROUND_FAULT * FPS), mode="constant")
    if spoilt.any():
        for a, b in runs(~spoilt):
            spoilt[a:b] = b - a < BETWEEN_FAULTS * FPS
    parts = [(a, b, True) for a, b in runs(spoilt)] + [(a, b, False) for a, b in runs(~spoilt)]
    out: list[tuple[int, int]] = []
    for a, b, whole in sorted(parts):
        count = 1 if whole or b - a <= LONGEST * FPS else round((b - a) / (PIECE * FPS))
        cuts = np.linspace(start + a, start + b, count + 1).round().astype(int)
        out += [(int(x), int(y)) for x, y in pairwise(cuts)]
    return out

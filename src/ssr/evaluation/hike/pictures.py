"""Pictures of a long walk: a strip of all of it, and films of chosen places."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssr.errors import UserError
from ssr.evaluation import film
from ssr.evaluation.film import Take
from ssr.evaluation.footholds import Footholds
from ssr.evaluation.hike.log import HikeLog, load_state
from ssr.evaluation.hike.walk import EYES, FRAMES
from ssr.evaluation.subject import Subject
from ssr.terrain.route import make_route

BEFORE, BEHIND = 4.0, 6.0  #: s of a film, around the moment its place was passed
PERIOD = 0.02  #: s, control period


def take_at(subject: Subject, log: HikeLog, folder: Path, metres: float) -> Take:
    """The walk around the place so many metres on the way."""
    if not 0.0 <= metres <= log.done:
        raise UserError(f"--film {metres:g} m: it walked {log.done:.0f} m.")
    passed = next((k for k, row in enumerate(log.track) if row[3] >= metres), len(log.track) - 1)
    kept = load_state(folder)
    poses, images = (kept[f"walk.{name}"].numpy() for name in ("poses", "images"))
    per_second = 1.0 / (PERIOD * FRAMES)
    low = max(int((passed + 1 - BEFORE) * per_second), 0)
    high = min(int((passed + 1 + BEHIND) * per_second), len(poses))
    return _take(subject, log, poses[low:high], _depth(subject, images, range(low, high)), metres)


def _depth(subject: Subject, images: np.ndarray, numbers: range) -> np.ndarray | None:
    if subject.camera is None or len(images) == 0:
        return None
    near, far = subject.camera.near, subject.camera.far
    chosen = images[np.minimum(np.array(numbers) // EYES, len(images) - 1)]
    return near + chosen.astype(np.float32) / 255 * (far - near)


def _take(subject: Subject, log: HikeLog, poses: np.ndarray, depth: np.ndarray | None, metres: float) -> Take:
    route = make_route(log.seed, log.length)
    middle = poses[len(poses) // 2]
    origin = np.round(middle[:3])
    qpos = poses.astype(np.float64)
    qpos[:, :3] -= origin
    none = np.empty(0)
    return Take(
        robot=subject.robot,
        title=f"seed {log.seed}, {metres:.0f} m on",
        tile=route.around((float(middle[0]), float(middle[1])), origin.tolist()),
        qpos=qpos,
        depth=depth,
        contact=np.ones((len(poses), 2), dtype=bool),
        imagined=None,
        footholds=Footholds(
            world=none.astype(np.int32), foot=none.astype(np.int8), step=none.astype(np.int16),
            position=np.empty((0, 2), dtype=np.float32), yaw=none, support=none,
        ),
        period=PERIOD * FRAMES,
        depth_range=(subject.camera.near, subject.camera.far) if subject.camera else (0.0, 1.0),
        fell=False,
    )  # fmt: skip


def save_film(subject: Subject, log: HikeLog, folder: Path, metres: float) -> tuple[Path, Path]:
    """Film and strip of the place so many metres on the way."""
    return film.save(take_at(subject, log, folder, metres), folder, f"at-{metres:.0f}m")


def save_strip(subject: Subject, log: HikeLog, folder: Path, panels: int = 16) -> Path:
    """Pictures from all of the walk, in order."""
    shown = []
    for metres in np.linspace(0.0, log.done, panels + 2)[1:-1].tolist():
        take = take_at(subject, log, folder, metres)
        middle = len(take.qpos) // 2
        ((seen, eye),) = film.frames(take, [middle], fine=True)
        shown.append((seen, eye, f"{metres:.0f} m"))
    path = folder / "strip.png"
    film.save_strip(shown, subject.camera is not None, path)
    return path

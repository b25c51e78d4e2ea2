"""A trial as a film: an onlooker and the robot's eye side by side, with the footholds it imagines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import Footholds, FootRecorder
from ssr.evaluation.ramps import ramps_of
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import CHUNK, worlds_for
from ssr.files import replacing
from ssr.learning.footsteps import to_tile
from ssr.learning.statistics import SAFE_SUPPORT
from ssr.physics.world import build_world, show_tile
from ssr.pictures.depth import depth_picture
from ssr.pictures.offscreen import Disc, Lines, Offscreen, dress, onlooker
from ssr.robots.spec import RobotSpec
from ssr.terrain.draw import drawn_lines, seen_from
from ssr.terrain.tile import Tile

SIDE = 480  #: pixels, height of the film and side of the robot's eye
WIDE = 860  #: pixels, width of the onlooker's picture
EVERY = 2  #: control steps per frame
HOLD = 15  #: frames the last picture stays
PANELS = 8  #: pictures in a film strip
PANEL = 240  #: pixels, side of each
LIFTED = 0.008  #: m above the ground, of marks
TRAIL = 10  #: past footholds shown
FEET = ((0.84, 0.37, 0.0), (0.0, 0.45, 0.70))  #: right, left
GOOD, BAD = (0.0, 0.62, 0.45), (0.85, 0.1, 0.1)  #: footholds with and without enough support
CALM = 0.4  #: s over which the onlooker's height is smoothed
MIDDLE = 0.33  #: of the standing height: how far below the base the picture's middle lies
SHADOW = 0.09  #: m, radius of what marks the ground under a foot where no shadow is drawn
SIGHT = 10.0  #: m before and behind the robot in which lines are drawn


@dataclass(frozen=True, kw_only=True)
class Take:
    """One trial, t control steps."""

    robot: RobotSpec
    title: str  #: of its pictures
    tile: Tile
    qpos: np.ndarray  #: (t, nq)
    depth: np.ndarray | None  #: (t, 36, 36) m, as the policy saw it
    contact: np.ndarray  #: (t, 2) bool, right before left
    imagined: np.ndarray | None  #: (t, 2, 3) x, y, σ (m), tile frame
    footholds: Footholds
    period: float  #: s per control step
    depth_range: tuple[float, float]  #: m
    fell: bool


def record(
    subject: Subject,
    course: Course,
    conditions: Conditions,
    trial: int,
    chunk: int = CHUNK,
    heard: Callable[[], None] = lambda: None,
) -> Take:
    """Trial number `trial` of the course, just as an evaluation runs it."""
    worlds = worlds_for(subject, course, conditions, trial, 1, chunk)
    env, world = worlds.env, trial % chunk
    tile = worlds.tiles[world]
    actor = subject.actor()
    actor.begin(chunk)
    recorder = FootRecorder(chunk, env.layouts.privileged, ramps_of(env, worlds.tiles))
    imagine = subject.imagine
    rows: dict[str, list[np.ndarray]] = {"qpos": [], "depth": [], "contact": [], "imagined": []}
    observation = worlds.begin()
    state = env.simulator.state()
    base, yaw = state.base_position[:, :2], state.yaw
    fell = False
    for _ in range(env.config.control_steps(conditions.seconds)):
        action = actor.act(observation)
        rows["qpos"].append(env.simulator.configurations(torch.tensor([world]))[0].numpy())
        rows["depth"].append(observation.depth[world].numpy().copy())
        if imagine is not None:
            with torch.inference_mode():
                mean, std = imagine(observation.privileged[world, None], action[world, None])
            place = to_tile(mean[0], base[world], yaw[world])
            rows["imagined"].append(torch.cat([place, std[0, :, None]], dim=-1).numpy().copy())
        running = worlds.running
        transition = worlds.step(action)
        recorder.observe(transition, running)
        rows["contact"].append(transition.feet.contact[world].numpy().copy())
        base, yaw = transition.base_position[:, :2].clone(), transition.base_yaw.clone()
        heard()
        if not bool(worlds.running.any()):
            fell = bool(transition.terminated[world])
            break
        observation = worlds.observe()
    return Take(
        robot=subject.robot,
        title=course.title.replace("★", "*"),
        tile=tile,
        qpos=np.stack(rows["qpos"]),
        depth=np.stack(rows["depth"]) if subject.camera is not None else None,
        contact=np.stack(rows["contact"]),
        imagined=np.stack(rows["imagined"]) if imagine is not None else None,
        footholds=recorder.footholds(),
        period=env.config.control_period,
        depth_range=(subject.camera.near, subject.camera.far) if subject.camera else (0.0, 1.0),
        fell=fell,
    )


def frames(
    take: Take, steps: Iterable[int], *, fine: bool, width: int = WIDE
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Onlooker's (480, width, 3) and robot's (480, 480, 3) pictures at these control steps."""
    spec = build_world(take.robot, len(take.tile.boxes), loose=take.tile.loose)
    show_tile(spec, take.tile)
    dress(spec, width=width, height=SIDE, fine=fine, over=float(take.qpos[:, 0].mean()))
    model = spec.compile()
    data = mujoco.MjData(model)
    scale, azimuth = take.robot.standing_height, seen_from(take.tile)
    heights, lines = _smooth(take.qpos[:, 2], CALM / take.period), _LinesNear(drawn_lines(take.tile))
    feet = [data.site(f"{side}_sole").xpos for side in ("right", "left")]
    places = _Places.of(take)
    eye, seen = np.empty(0), -1
    with Offscreen(model, width=width, height=SIDE) as picture:
        for step in steps:
            data.qpos[:] = take.qpos[step]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            x, y = data.qpos[:2]
            middle = (x + 0.2 * scale, y, heights[step] - MIDDLE * scale)
            camera = onlooker(middle, 4.2 * scale, azimuth, -16.0)
            marks: list[Disc | Lines] = [*lines.at(x), *_marks(take, places, step)]
            if not fine:
                below = _on_the_ground(take, np.array(feet)[:, :2])
                marks += [_disc(place, SHADOW, (0.0, 0.0, 0.0, 0.3)) for place in below]
            if seen < 0 or not _same_image(take, seen, step):
                eye, seen = _eye(take, step), step
            yield picture.frame(data, camera, marks).copy(), eye


def _smooth(values: np.ndarray, width: float) -> np.ndarray:
    """Values (t,) without their bumps, and no later than they are: the onlooker knows what comes."""
    reach = int(3 * width)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    return np.convolve(np.pad(values, reach, mode="edge"), weights / weights.sum(), mode="valid")


class _LinesNear:
    """Those of all lines that lie, in part, within sight; chosen anew for every metre only."""

    def __init__(self, lines: Iterable[Lines]) -> None:
        self._all = tuple(lines)
        self._choose(0)

    def at(self, x: float) -> tuple[Lines, ...]:
        if round(x) != self._metre:
            self._choose(round(x))
        return self._near

    def _choose(self, x: int) -> None:
        spans = [(lines, lines.ends[..., 0]) for lines in self._all]
        self._metre = x
        self._near: tuple[Lines, ...] = tuple(
            replace(lines, ends=lines.ends[(ends.max(axis=1) > x - SIGHT) & (ends.min(axis=1) < x + SIGHT)])
            for lines, ends in spans
        )


def _same_image(take: Take, one: int, other: int) -> bool:
    return take.depth is None or np.array_equal(take.depth[one], take.depth[other])


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Where marks lie, on the ground."""

    footholds: np.ndarray  #: (n, 3) m
    imagined: np.ndarray | None  #: (t, 2, 3) m

    @staticmethod
    def of(take: Take) -> _Places:
        imagined = None if take.imagined is None else _on_the_ground(take, take.imagined[..., :2])
        return _Places(footholds=_on_the_ground(take, take.footholds.position[:, :2]), imagined=imagined)


def _on_the_ground(take: Take, points: np.ndarray) -> np.ndarray:
    """Points (..., 2) with the height a mark has there."""
    heights = take.tile.heights(points.reshape(-1, 2)).reshape(*points.shape[:-1], 1)
    return np.concatenate([points, heights + LIFTED], axis=-1).astype(np.float64)


def _marks(take: Take, places: _Places, step: int) -> list[Disc]:
    """Past footholds by how well they were supported; imagined ones of the feet in the air."""
    marks = []
    for k in np.flatnonzero(take.footholds.step <= step)[-TRAIL:]:
        safe = take.footholds.support[k] > SAFE_SUPPORT
        marks.append(_disc(places.footholds[k], 0.035, (*(GOOD if safe else BAD), 0.75)))
    if take.imagined is not None and places.imagined is not None:
        for foot in (0, 1):
            if not take.contact[step, foot]:
                place, std = places.imagined[step, foot], take.imagined[step, foot, 2]
                marks.append(_disc(place, 2.0 * std, (*FEET[foot], 0.35)))
                marks.append(_disc(place, 0.02, (*FEET[foot], 1.0)))
    return marks


def _disc(place: np.ndarray, radius: float, colour: tuple[float, float, float, float]) -> Disc:
    x, y, z = place.tolist()
    return Disc(position=(x, y, z), radius=float(radius), colour=colour)


def _eye(take: Take, step: int) -> np.ndarray:
    if take.depth is None:
        return np.full((SIDE, SIDE, 3), 40, dtype=np.uint8)
    return depth_picture(take.depth[step], *take.depth_range, SIDE)


def save(
    take: Take, folder: Path, name: str, heard: Callable[[], None] = lambda: None, *, fine: bool = False
) -> tuple[Path, Path]:
    """The film (mp4) and the film strip (png); of a film that is not `fine`, the strip is."""
    import imageio_ffmpeg

    folder.mkdir(parents=True, exist_ok=True)
    film, strip = folder / f"{name}.mp4", folder / f"{name}.png"
    steps = range(0, len(take.qpos), EVERY)
    with replacing(film) as partial:
        writer = imageio_ffmpeg.write_frames(
            str(partial),
            (WIDE + SIDE, SIDE),
            fps=1.0 / (EVERY * take.period),
            quality=None,
            codec="libx264",  # named, or every film begins with a search for encoders
            macro_block_size=4,
            output_params=["-preset", "ultrafast", "-crf", "27"],
        )
        writer.send(None)
        picture, shown = np.empty((SIDE, WIDE + SIDE, 3), dtype=np.uint8), None
        try:
            for step, (seen, eye) in zip(steps, frames(take, steps, fine=fine), strict=True):
                if eye is not shown:
                    shown, picture[:, WIDE:] = eye, _labelled(take, eye)
                picture[:, :WIDE] = _captioned(take, seen, step)
                writer.send(picture)
                heard()
            for _ in range(HOLD):
                writer.send(picture)
        finally:
            writer.close()
    chosen = np.linspace(0, len(steps) - 1, min(PANELS, len(steps))).round().astype(int) * EVERY
    fine_frames = frames(take, chosen, fine=True, width=SIDE)
    panels = [
        (seen, eye, f"{step * take.period:.1f} s")
        for step, (seen, eye) in zip(chosen, fine_frames, strict=True)
    ]
    save_strip(panels, take.depth is not None, strip)
    return film, strip


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


def _captioned(take: Take, seen: np.ndarray, step: int) -> np.ndarray:
    picture = Image.fromarray(seen)
    moved = take.qpos[step, 0] - take.qpos[0, 0]
    text = f"{take.title}   {step * take.period:5.2f} s   {moved:5.2f} m"
    if take.fell and step >= len(take.qpos) - EVERY:
        text += "   fell"
    _write(picture, (14, 10), text)
    return np.asarray(picture)


def _labelled(take: Take, eye: np.ndarray) -> np.ndarray:
    picture = Image.fromarray(eye)
    label = "what the robot sees: depth" if take.depth is not None else "this policy is blind"
    _write(picture, (12, 10), label)
    return np.asarray(picture)


def _write(picture: Image.Image, place: tuple[int, int], text: str) -> None:
    """In white on a dark plate, to be read on any ground."""
    (x, y), font = place, _font(17)
    drawing = ImageDraw.Draw(picture)
    drawing.rectangle((x - 6, y - 4, x + 6 + font.getlength(text), y + 24), fill=(20, 30, 40))
    drawing.text(place, text, fill="white", font=font)


def save_strip(panels: list[tuple[np.ndarray, np.ndarray, str]], sees: bool, path: Path) -> None:
    """Onlooker's pictures above, the robot's below if it sees, in the order of time, each with a label."""
    rows = 2 if sees else 1
    sheet = Image.new("RGB", (len(panels) * PANEL, rows * PANEL), "white")
    font = _font(14)
    for k, (seen, eye, label) in enumerate(panels):
        left = (seen.shape[1] - SIDE) // 2
        middle = Image.fromarray(seen[:, left : left + SIDE]).resize((PANEL, PANEL))
        ImageDraw.Draw(middle).text((6, 4), label, fill=(20, 30, 40), font=font)
        sheet.paste(middle, (k * PANEL, 0))
        below = Image.fromarray(eye).resize((PANEL, PANEL), Image.Resampling.NEAREST)
        if sees:
            sheet.paste(below, (k * PANEL, PANEL))
    with replacing(path) as partial:
        sheet.save(partial)

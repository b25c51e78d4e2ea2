"""A trial as a film: an onlooker and the robot's eye side by side, with the footholds it imagines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import Footholds, FootRecorder
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import CHUNK, worlds_for
from ssr.files import replacing
from ssr.learning.footsteps import to_tile
from ssr.learning.statistics import SAFE_SUPPORT
from ssr.physics.world import build_world, show_tile, terrain_name
from ssr.pictures.offscreen import Disc, Offscreen, dress, onlooker
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Tile

SIDE = 480  #: pixels, height of the film and side of the robot's eye
WIDE = 860  #: pixels, width of the onlooker's picture
EVERY = 2  #: control steps per frame
HOLD = 15  #: frames the last picture stays
PANELS = 8  #: pictures in a film strip
PANEL = 240  #: pixels, side of each
TRAIL = 10  #: past footholds shown
FEET = ((0.84, 0.37, 0.0), (0.0, 0.45, 0.70))  #: right, left
GOOD, BAD = (0.0, 0.62, 0.45), (0.85, 0.1, 0.1)  #: footholds with and without enough support
TREADS = ((0.62, 0.66, 0.70, 1.0), (0.50, 0.58, 0.66, 1.0))


@dataclass(frozen=True, kw_only=True)
class Take:
    """One trial, t control steps."""

    robot: RobotSpec
    course: Course
    tile: Tile
    qpos: np.ndarray  #: (t, nq)
    depth: np.ndarray | None  #: (t, 36, 36) m, as the policy saw it
    contact: np.ndarray  #: (t, 2) bool, right before left
    imagined: np.ndarray | None  #: (t, 2, 3) x, y, σ (m), tile frame
    footholds: Footholds
    period: float  #: s per control step
    depth_range: tuple[float, float]  #: m
    fell: bool


def record(subject: Subject, course: Course, conditions: Conditions, trial: int, chunk: int = CHUNK) -> Take:
    """Trial number `trial` of the course, just as an evaluation runs it."""
    worlds = worlds_for(subject, course, conditions, trial, 1, chunk)
    env, world = worlds.env, trial % chunk
    tile = worlds.tiles[world]
    actor = subject.actor()
    actor.begin(chunk)
    recorder = FootRecorder(chunk, env.layouts.privileged)
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
                mean, std = imagine(observation.privileged, action)
            place = to_tile(mean[world], base[world], yaw[world])
            rows["imagined"].append(torch.cat([place, std[world, :, None]], dim=-1).numpy().copy())
        running = worlds.running
        transition = worlds.step(action)
        recorder.observe(transition, running)
        rows["contact"].append(transition.feet.contact[world].numpy().copy())
        base, yaw = transition.base_position[:, :2].clone(), transition.base_yaw.clone()
        if not bool(worlds.running.any()):
            fell = bool(transition.terminated[world])
            break
        observation = worlds.observe()
    return Take(
        robot=subject.robot,
        course=course,
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


def frames(take: Take, heard: Callable[[], None] = lambda: None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Onlooker's (480, 860, 3) and robot's (480, 480, 3) pictures, one pair per `EVERY` control steps."""
    spec = build_world(take.robot, len(take.tile.boxes))
    show_tile(spec, take.tile)
    for index in range(len(take.tile.boxes)):
        spec.geom(terrain_name(index)).rgba = TREADS[index % 2]
    dress(spec, width=WIDE, height=SIDE)
    model = spec.compile()
    data = mujoco.MjData(model)
    scale = take.robot.standing_height
    height = take.qpos[0, 2]
    with Offscreen(model, width=WIDE, height=SIDE) as picture:
        for step in range(0, len(take.qpos), EVERY):
            data.qpos[:] = take.qpos[step]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            x, y, z = data.qpos[:3]
            height += 0.08 * (z - height)  # the onlooker follows smoothly over steps
            camera = onlooker((x + 0.2 * scale, y, height - 0.4 * scale), 3.9 * scale, 122.0, -16.0)
            yield picture.frame(data, camera, _marks(take, step)).copy(), _eye(take, step)
            heard()


def _marks(take: Take, step: int) -> list[Disc]:
    """Past footholds by how well they were supported; imagined ones of the feet in the air."""
    marks = []
    past = np.flatnonzero(take.footholds.step <= step)[-TRAIL:]
    for k in past:
        safe = take.footholds.support[k] > SAFE_SUPPORT
        marks.append(_disc(take, take.footholds.position[k], 0.035, (*(GOOD if safe else BAD), 0.75)))
    if take.imagined is not None:
        for foot in (0, 1):
            if not take.contact[step, foot]:
                x, y, std = take.imagined[step, foot]
                marks.append(_disc(take, np.array([x, y]), 2.0 * std, (*FEET[foot], 0.35)))
                marks.append(_disc(take, np.array([x, y]), 0.02, (*FEET[foot], 1.0)))
    return marks


def _disc(take: Take, point: np.ndarray, radius: float, colour: tuple[float, float, float, float]) -> Disc:
    x, y = point.astype(float).tolist()
    height = float(take.tile.heights(np.array([[x, y]]))[0])
    return Disc(position=(x, y, height + 0.008), radius=float(radius), colour=colour)


def _eye(take: Take, step: int) -> np.ndarray:
    from matplotlib import colormaps

    if take.depth is None:
        return np.full((SIDE, SIDE, 3), 40, dtype=np.uint8)
    near, far = take.depth_range
    shades = colormaps["turbo"]((take.depth[step] - near) / (far - near))[..., :3]
    small = Image.fromarray((255 * shades).astype(np.uint8))
    return np.array(small.resize((SIDE, SIDE), Image.Resampling.NEAREST))


def save(take: Take, folder: Path, name: str, heard: Callable[[], None] = lambda: None) -> tuple[Path, Path]:
    """The film (mp4) and the film strip (png)."""
    import imageio_ffmpeg

    folder.mkdir(parents=True, exist_ok=True)
    film, strip = folder / f"{name}.mp4", folder / f"{name}.png"
    rate = 1.0 / (EVERY * take.period)
    count = -(-len(take.qpos) // EVERY)
    chosen = set(np.linspace(0, count - 1, min(PANELS, count)).round().astype(int).tolist())
    panels = []
    with replacing(film) as partial:
        writer = imageio_ffmpeg.write_frames(
            str(partial), (WIDE + SIDE, SIDE), fps=rate, quality=7, macro_block_size=4
        )
        writer.send(None)
        try:
            for number, (seen, eye) in enumerate(frames(take, heard)):
                picture = _captioned(take, seen, eye, number * EVERY)
                writer.send(picture)
                if number in chosen:
                    panels.append((seen, eye, number * EVERY * take.period))
            for _ in range(HOLD):
                writer.send(picture)
        finally:
            writer.close()
    _save_strip(panels, take.depth is not None, strip)
    return film, strip


def _captioned(take: Take, seen: np.ndarray, eye: np.ndarray, step: int) -> np.ndarray:
    picture = Image.fromarray(np.concatenate([seen, eye], axis=1))
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=17)
    moved = take.qpos[step, 0] - take.qpos[0, 0]
    text = f"{take.course.title.replace('★', '*')}   {step * take.period:5.2f} s   {moved:5.2f} m"
    if take.fell and step >= len(take.qpos) - EVERY:
        text += "   fell"
    draw.text((14, 10), text, fill=(20, 30, 40), font=font)
    label = "what the robot sees: depth" if take.depth is not None else "this policy is blind"
    draw.text((WIDE + 12, 10), label, fill="white", font=font, stroke_width=2, stroke_fill=(20, 30, 40))
    return np.ascontiguousarray(picture)


def _save_strip(panels: list[tuple[np.ndarray, np.ndarray, float]], sees: bool, path: Path) -> None:
    """Onlooker's pictures above, the robot's below if it sees, from left to right in time."""
    rows = 2 if sees else 1
    sheet = Image.new("RGB", (len(panels) * PANEL, rows * PANEL), "white")
    font = ImageFont.load_default(size=14)
    left = (WIDE - SIDE) // 2
    for k, (seen, eye, seconds) in enumerate(panels):
        middle = Image.fromarray(seen[:, left : left + SIDE]).resize((PANEL, PANEL))
        ImageDraw.Draw(middle).text((6, 4), f"{seconds:.1f} s", fill=(20, 30, 40), font=font)
        sheet.paste(middle, (k * PANEL, 0))
        below = Image.fromarray(eye).resize((PANEL, PANEL), Image.Resampling.NEAREST)
        if sees:
            sheet.paste(below, (k * PANEL, PANEL))
    with replacing(path) as partial:
        sheet.save(partial)

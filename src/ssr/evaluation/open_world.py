"""The chapter about terrain nobody trained on: each as an onlooker and as the robot's eye sees it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
from PIL import Image

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.results import Results
from ssr.evaluation.worlds import TrialWorlds
from ssr.pictures.depth import depth_picture
from ssr.robots import load as load_robot
from ssr.task.config import TaskConfig
from ssr.terrain.draw import render
from ssr.terrain.making import make_tile
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig

BEFORE = 0.55  #: m from the robot to the first edge
EYE, WIDE = 230, 575  #: pixels


def unseen_rows(result: Results) -> list[Row]:
    return [row for row in result.rows if not course_of(row).terrain.trained]


def chapter(results: Sequence[Results]) -> str:
    """HTML; empty unless terrain was tried that nobody trained on."""
    found = [(result, unseen_rows(result)) for result in results]
    courses = list({course_of(row): None for _, rows in found for row in rows})
    if not courses:
        return ""
    parts = [
        "<h2>The open world</h2><p class='soft'>Terrain that is never trained on: an onlooker's view of 4 m "
        "of it, and what the depth camera shows just before it (blue is near, red 3 m away).</p>"
    ]
    robot = results[0].robot
    for course in sorted(courses, key=lambda course: course.order):
        told = " · ".join(
            f"{escape(result.name)}: success {100 * row['success']:.0f} %, "
            f"traversal {100 * row['traversal']:.0f} %"
            for result, rows in found
            for row in rows
            if course_of(row) == course
        )
        tile = before_it(make_tile(course.kind, setting=course.setting))
        told += " · an operator gives speed and heading" if tile.way else ""
        shown = _pictures(course, tile, robot)
        parts.append(f"<h3>{escape(course.title)}</h3><p class='soft'>{told}</p><p>{shown}</p>")
    return "\n".join(parts)


def _pictures(course: Course, tile: Tile, robot: str) -> str:
    seen = render(tile)
    shown = "" if seen is None else _image(seen, WIDE, f"{course.title}, onlooker")
    return shown + _image(eye(tile, robot), EYE, f"{course.title}, depth camera")


def before_it(tile: Tile) -> Tile:
    """Robots begin just before what is special here: the first thing that moves, else the first edge."""
    edges = [item.box.center[0] - item.box.half[0] for item in tile.loose] or [tile.first_edge]
    return replace(tile, start=min(edges) - BEFORE)


def eye(tile: Tile, robot: str) -> np.ndarray:
    """(230, 230, 3) what a robot sees that stands at the tile's start."""
    camera = CameraConfig(randomization=0.0)
    worlds = TrialWorlds(load_robot(robot), TaskConfig(), camera, [tile], [0], Conditions(nominal=True))
    return depth_picture(worlds.begin().depth[0].numpy(), camera.near, camera.far, EYE)


def _image(picture: np.ndarray, width: int, alternative: str) -> str:
    made = Image.fromarray(picture)
    made = made.resize((width, round(made.height * width / made.width)))
    buffer = io.BytesIO()
    made.save(buffer, format="png")
    data = base64.b64encode(buffer.getvalue()).decode()
    style = "display:inline-block;margin-right:.5rem"
    return f'<img style="{style}" alt="{escape(alternative)}" src="data:image/png;base64,{data}">'

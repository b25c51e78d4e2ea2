"""Watching a robot that another program moves: the same scene, in a process of its own.

The robot's program leaves the newest poses in shared memory and never waits for whoever looks at them.
"""

from __future__ import annotations

import signal
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import numpy as np

from ssr import rotation
from ssr.errors import UserError
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Tile
from ssr.viewer.player import open_server
from ssr.viewer.scene import Scene
from ssr.viewer.world import PlayMoment

PERIOD = 0.04  #: s from picture to picture
PATIENCE = 60.0  #: s until the page must be there
HOST = "127.0.0.1"
NOW, HANGING, FALLEN = range(3)  #: then seven numbers for each link
HEAD = 3


def links_of(robot: RobotSpec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shape.link for shape in robot.shapes))


class Spectator:
    """The robot's side. Use as a context manager: the page goes with it."""

    def __init__(self, robot: RobotSpec, tile: Tile, port: int) -> None:
        context = get_context("spawn")
        self._memory = context.Array("d", HEAD + 7 * len(links_of(robot)), lock=False)
        self._values = np.frombuffer(self._memory)
        ours, theirs = context.Pipe(duplex=False)
        arguments = (robot, tile, port, self._memory, theirs)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        try:
            self.url = str(ours.recv()) if ours.poll(PATIENCE) else ""
        except EOFError:
            self.url = ""
        if not self.url.startswith("http"):
            self._process.kill()
            raise UserError(self.url or "The viewer does not open.")

    def show(
        self, now: float, position: np.ndarray, quaternion: np.ndarray, *, hanging: bool, fallen: bool
    ) -> None:
        """All links (L, 3) and (L, 4) at `now` s, in the tile's frame."""
        self._values[HEAD:] = np.concatenate([position, quaternion], axis=1).ravel()
        self._values[:HEAD] = (now, hanging, fallen)

    def __enter__(self) -> Spectator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.join(timeout=5.0)


def _serve(robot: RobotSpec, tile: Tile, port: int, memory: Any, told: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the robot's program ends this one
    try:
        server = open_server(HOST, port)
    except UserError as error:
        told.send(str(error))
        return
    scene = Scene(server, robot, links_of(robot), None)
    scene.lay({"tile": tile})
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.set_panel_label(f"ssr robot-sim · {robot.name}")
    readout = server.gui.add_html("")
    told.send(f"http://{HOST}:{server.get_port()}")
    values, before = np.frombuffer(memory), -1.0
    while True:
        time.sleep(PERIOD)
        if values[NOW] != before:
            before = float(values[NOW])
            scene.show(moment(values, robot))
            readout.content = said(values, tile)


def moment(values: np.ndarray, robot: RobotSpec) -> PlayMoment:
    """What the scene draws of shared memory."""
    poses = values[HEAD:].reshape(-1, 7)
    base = links_of(robot).index(robot.base_link)
    return PlayMoment(
        link_position=poses[:, :3].copy(),
        link_quaternion=poses[:, 3:].copy(),
        loose_position=np.zeros((0, 3)),
        loose_quaternion=np.zeros((0, 4)),
        base_position=poses[base, :3].copy(),
        base_yaw=float(rotation.yaw(poses[base, 3:])),
        velocity=(0.0, 0.0, 0.0),
        depth=None,
        contact=np.ones(2, dtype=bool),
        imagined=None,
        footprints=(),
        seconds=float(values[NOW]),
    )


def said(values: np.ndarray, tile: Tile) -> str:
    state = "hangs on the gantry" if values[HANGING] else "fallen" if values[FALLEN] else "on its own feet"
    kind = tile.kind.replace("_", " ")
    return f"<div style='padding:0.4em 0.9em'><b>{kind}</b><br>{values[NOW]:.1f} s · {state}</div>"

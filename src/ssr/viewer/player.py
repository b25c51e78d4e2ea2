"""`ssr play`: a web server, and the loop that steps the world in real time and shows it."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import threading
import time
from collections.abc import Callable

import viser

from ssr.errors import UserError
from ssr.evaluation.steering import Steering
from ssr.evaluation.subject import Subject
from ssr.viewer.outing import Command
from ssr.viewer.panel import Panel
from ssr.viewer.scene import Scene
from ssr.viewer.visitors import guarded
from ssr.viewer.world import PlayMoment, PlayWorld

DRAW_EVERY = 2  #: control steps per picture
READ_EVERY = 10  #: control steps per readout
LAG = 0.1  #: s; a loop that is later than this gives the time up instead of hurrying
IDLE = 0.1  #: s between two looks for a browser or the end of a pause


def open_server(host: str, port: int) -> viser.ViserServer:
    """A web server on exactly this port (0: any free one)."""
    # viser would take the next free port without a word.
    try:
        with socket.create_server((host, port)):
            pass
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"Cannot listen on {host}:{port} ({reason}). Choose another --port or --host."
        ) from None
    # Browsers open connections that they then do not use; that is no news.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()), guarded(host):  # without its banner
        return viser.ViserServer(host=host, port=port, verbose=False)


class Pace:
    """Keeps a loop to one turn per `period` s of wall clock."""

    def __init__(
        self,
        period: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.period, self._clock, self._sleep = period, clock, sleep
        self.restart()

    def restart(self) -> None:
        """Count from now: the time until now was spent on something else."""
        self._due = self._last = self._clock()
        self._took = self.period  #: s per turn, smoothed

    def wait(self) -> None:
        self._due += self.period
        early = self._due - self._clock()
        if early > 0:
            self._sleep(early)
        elif -early > LAG:
            self._due = self._clock()
        now = self._clock()
        self._took += 0.05 * (now - self._last - self._took)
        self._last = now

    @property
    def rate(self) -> float:
        """Simulated seconds per second."""
        return self.period / self._took


Told = Callable[[], Steering | None]  #: what is known of a policy's steering, once it is


class Player:
    """One world, shown by one server to any number of browsers. While none looks on, the world rests."""

    def __init__(
        self,
        server: viser.ViserServer,
        world: PlayWorld,
        renewed: Callable[[], Subject],
        command: Command = (0.0, 0.0, 0.0),
        told: Told = lambda: None,
    ) -> None:
        self.server, self.world, self.renewed = server, world, renewed
        self._told, self._marked = told, False
        links = tuple(dict.fromkeys(shape.link for shape in world.env.robot.shapes))
        self.scene = Scene(server, world.env.robot, links, world.subject.camera)
        self.panel = Panel(server, world, self.scene, self._renew, command)
        self.pace = Pace(world.env.config.control_period)
        self.turns = 0
        self._seen: PlayMoment | None = None
        self.draw()

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if self.watched and not self.panel.paused:
                self.turn()
                self.pace.wait()
            else:
                self.serve()
                self.draw()
                stop.wait(IDLE)
                self.pace.restart()

    @property
    def watched(self) -> bool:
        return bool(self.server.get_clients())

    def turn(self) -> None:
        """One control step, and a picture if one is due."""
        self.serve()
        self.world.step()
        self.turns += 1
        self._show_eye()
        if self.turns % DRAW_EVERY == 0:
            self._draw_scene()
        if self.turns % READ_EVERY == 0:
            self.panel.show_readout(self.world, self.pace.rate)
            self._mark()

    def serve(self) -> None:
        """Do what users asked for."""
        self.world.command, self.world.led = self.panel.command, self.panel.led
        for request in self.panel.requests():
            try:
                request(self.world)
            except UserError as error:
                self.panel.warn(str(error))
            except (ValueError, TypeError, OverflowError):  # a browser can send anything
                self.panel.warn("That cannot be.")

    def draw(self) -> None:
        self._show_eye()
        self._draw_scene()
        self.panel.show_readout(self.world, self.pace.rate)
        self._mark()

    def _mark(self) -> None:
        steering = None if self._marked else self._told()
        if steering is not None:
            self.panel.mark(steering)
            self._marked = True

    def _show_eye(self) -> None:
        if (
            self.world.moment is not self._seen
        ):  # a picture is dear, and a paused world is drawn over and over
            self.panel.show_eye(self.world.moment.depth)
        self._seen = self.world.moment

    def _draw_scene(self) -> None:
        self.panel.apply_view()
        self.scene.lay(self.world.scenery())
        self.scene.show(self.world.moment)

    def _renew(self, world: PlayWorld) -> None:
        world.adopt(self.renewed())
        world.begin()

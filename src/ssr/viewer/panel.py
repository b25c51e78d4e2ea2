"""The panel beside the scene: readouts, command, buttons, keys, terrain and the robot's eye.

Browsers call in from other threads. What they ask for waits in `requests` until the loop that owns the world
takes it out; what they set is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from typing import Literal

import numpy as np
import viser

from ssr.evaluation.steering import Steering
from ssr.evaluation.stress.registry import stress_named, stress_names
from ssr.pictures.depth import depth_picture
from ssr.task.config import CommandConfig
from ssr.terrain.settings import LEVELS
from ssr.viewer.ground import Ground, choices
from ssr.viewer.outing import Command
from ssr.viewer.readout import readout
from ssr.viewer.scene import VIEWS, Scene
from ssr.viewer.world import PlayWorld

Request = Callable[[PlayWorld], None]
Key = Literal["F", "I", "J", "K", "L", "O", "P", "R", "U", "X"]

#: what a key adds to the command; viser itself moves the onlooker with W A S D, Q E and the arrows
STEERING: dict[Key, tuple[str, Command]] = {
    "I": ("faster", (0.1, 0.0, 0.0)),
    "K": ("slower, then backwards", (-0.1, 0.0, 0.0)),
    "J": ("turn left", (0.0, 0.0, 0.2)),
    "L": ("turn right", (0.0, 0.0, -0.2)),
    "U": ("sidestep left", (0.0, 0.1, 0.0)),
    "O": ("sidestep right", (0.0, -0.1, 0.0)),
}
#: the same by finger
PAD: dict[str, Key] = {"◀": "J", "▲": "I", "▼": "K", "▶": "L"}
STOP = "■"
SENSES = (("forward", "backward"), ("left", "right"), ("turn left", "turn right"))  #: of the sliders
UNLEARNED = "⚠"
HELP = """**I** **K** faster, slower · **J** **L** turn · **U** **O** sidestep · **X** stop ·
**P** pause · **R** restart · **F** push. Mouse, arrows and **WASD** move the onlooker."""
PUSH = 0.6  #: m/s at first
NO_STRESS = "none"
EYE_WIDTH = 230  #: pixels, of the window with the robot's eye
EYE_SIDE = 288  #: pixels, of the picture in it: a whole number for each of its own


def spans(ranges: CommandConfig) -> list[tuple[str, str, float, float, float]]:
    """Name, unit, least, most and step of each part of the command."""
    fastest = max(ranges.slope_speed[1], ranges.obstacle_speed[1])
    return [
        ("forward", "m/s", ranges.slope_speed[0], fastest, 0.05),
        ("left", "m/s", *ranges.lateral_speed, 0.05),
        ("turn", "rad/s", *ranges.yaw_rate, 0.1),
    ]


class Panel:
    def __init__(
        self, server: viser.ViserServer, world: PlayWorld, scene: Scene, renew: Request, command: Command
    ) -> None:
        self.server, self.scene = server, scene
        self.paused = False
        self._waiting: SimpleQueue[Request] = SimpleQueue()
        server.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        server.gui.set_panel_label(f"ssr play · {world.subject.name}")
        self._readout = server.gui.add_html("")
        self._add_command(world.env.config.commands, command, world.leads)
        self._add_buttons()
        self._add_eye(world)
        self._add_ground(world)
        self._add_stress()
        self._add_view(scene)
        if world.subject.policy is not None:
            self._button("Newest weights", viser.Icon.REFRESH, renew)
        self._add_keys()

    # ---- building ---------------------------------------------------------------------------------------

    def _add_buttons(self) -> None:
        gui = self.server.gui
        self._pause = gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE)
        self._pause.on_click(self._toggle)
        self._button("Restart", viser.Icon.RELOAD, lambda world: world.begin())
        self._button("Push", viser.Icon.HAND_FINGER, self._push)

    def _button(self, label: str, icon: viser.IconName, request: Request) -> None:
        button = self.server.gui.add_button(label, icon=icon)
        button.on_click(lambda _: self.ask(request))

    def _add_command(self, ranges: CommandConfig, command: Command, led: bool) -> None:
        gui = self.server.gui
        with gui.add_folder("Command"):
            pad = gui.add_button_group("steer", (*PAD, STOP), hint="turn, faster, slower, turn; stop")
            pad.on_click(lambda event: self._touch(event.target.value))
            self._command = [
                gui.add_slider(f"{name} {unit}", low, high, step, value)
                for (name, unit, low, high, step), value in zip(spans(ranges), command, strict=True)
            ]
            self._notes = gui.add_markdown("")
            self._led = gui.add_checkbox(
                "along the way", True, hint="somebody turns it; your turns are added", visible=led
            )
            self._push_speed = gui.add_slider("push m/s", 0.0, 2.0, 0.1, PUSH)

    def _add_eye(self, world: PlayWorld) -> None:
        camera = world.subject.camera
        self._eye: viser.GuiImageHandle | None = None
        window = self.server.gui.add_panel()
        window.float(x=15, y=-15, width=EYE_WIDTH)
        with window.add_tab("What the robot sees", viser.Icon.EYE):
            if camera is None:
                self.server.gui.add_markdown("Nothing: this policy is blind.")
            else:
                self._range = (camera.near, camera.far)
                blank = np.full((camera.height, camera.width), camera.far)
                self._eye = self.server.gui.add_image(
                    depth_picture(blank, *self._range, EYE_SIDE), format="png"
                )
            self.server.gui.add_markdown(HELP)

    def _add_ground(self, world: PlayWorld) -> None:
        gui, ground = self.server.gui, world.ground
        with gui.add_folder("Terrain"):
            self._kind = gui.add_dropdown("kind", choices(), initial_value=ground.kind)
            self._level = gui.add_slider("level", 0, LEVELS - 1, 1, ground.level)
            scripted = world.subject.policy is None
            randomized = gui.add_checkbox("randomized", world.randomized, disabled=scripted)
        for choice in (self._kind, self._level):
            choice.on_update(lambda _: self.ask(lambda world: world.choose(self.ground)))
        randomized.on_update(lambda _: self.ask(lambda world: world.randomize(randomized.value)))

    def _add_stress(self) -> None:
        gui = self.server.gui
        with gui.add_folder("Stress", expand_by_default=False):
            self._stress = gui.add_dropdown("trouble", (NO_STRESS, *stress_names()), initial_value=NO_STRESS)
            self._dose = gui.add_slider("dose %", 0, 200, 10, 100)
            self._told = gui.add_markdown("")
        for choice in (self._stress, self._dose):
            choice.on_update(lambda _: self._trouble())

    def _trouble(self) -> None:
        """100 % is the hardest dose of `ssr stress`."""
        name = "" if self._stress.value == NO_STRESS else self._stress.value
        dose = 0.0
        self._told.content = ""
        if name:
            kind = stress_named(name)
            dose = min(kind.doses[-1] * self._dose.value / 100, kind.highest)
            self._told.content = f"{kind.label}, {dose:g} {kind.unit}: {kind.about}"
        self.ask(lambda world: world.worry(name, dose))

    def _add_view(self, scene: Scene) -> None:
        gui = self.server.gui
        with gui.add_folder("View", expand_by_default=False):
            self._view = gui.add_dropdown("onlooker", VIEWS, initial_value=scene.view)
            self._imagined = gui.add_checkbox("imagined footholds", scene.imagined)
            self._footprints = gui.add_checkbox("footprints", scene.footprints)
            self._cone = gui.add_checkbox("camera's view", False, visible=scene.cone is not None)

    def _add_keys(self) -> None:
        for key, (label, change) in STEERING.items():
            self._bind(key, label, partial(self._steer, change))
        self._bind("X", "stop", self.halt)
        self._bind("P", "pause or go on", self._toggle)
        self._bind("R", "restart", lambda: self.ask(lambda world: world.begin()))
        self._bind("F", "push", lambda: self.ask(self._push))

    def _bind(self, key: Key, label: str, act: Callable[[], None]) -> None:
        # A coroutine runs in the server's loop, so that quick presses cannot overtake each other.
        async def pressed(event: viser.CommandEvent) -> None:
            act()

        self.server.gui.add_command(label, hotkey=key).on_trigger(pressed)

    # ---- what users do ----------------------------------------------------------------------------------

    @property
    def command(self) -> Command:
        forward, left, turn = map(_chosen, self._command)
        return forward, left, turn

    @property
    def led(self) -> bool:
        """Whether somebody turns the robot so that it stays on the way."""
        return bool(self._led.value)

    @property
    def ground(self) -> Ground:
        return Ground.of(self._kind.value, int(self._level.value))

    def ask(self, request: Request) -> None:
        self._waiting.put(request)

    def requests(self) -> Iterator[Request]:
        """What was asked for since the last call."""
        while True:
            try:
                yield self._waiting.get_nowait()
            except Empty:
                return

    def halt(self) -> None:
        for slider in self._command:
            _set(slider, 0.0)

    def _steer(self, change: Command) -> None:
        for slider, step in zip(self._command, change, strict=True):
            _set(slider, round(float(np.clip(_chosen(slider) + step, slider.min, slider.max)), 6))

    def _touch(self, button: object) -> None:
        if button == STOP:
            self.halt()
        elif key := PAD.get(str(button)):
            self._steer(STEERING[key][1])

    def _toggle(self, event: object = None) -> None:
        self.paused = not self.paused
        self._pause.label = "Go on" if self.paused else "Pause"
        self._pause.icon = viser.Icon.PLAYER_PLAY if self.paused else viser.Icon.PLAYER_PAUSE

    def _push(self, world: PlayWorld) -> None:
        world.push(_chosen(self._push_speed))

    # ---- what users see ---------------------------------------------------------------------------------

    def mark(self, steering: Steering) -> None:
        """Mark the sliders that ask for what was not learned, and say how much of it is done."""
        missing = {sense: found.share for sense, found in steering.items() if not found.learned}
        for slider, senses in zip(self._command, SENSES, strict=True):
            if set(senses) & missing.keys() and not slider.label.startswith(UNLEARNED):
                slider.label = f"{UNLEARNED} {slider.label}"
        shares = ", ".join(f"{sense} {100 * share:.0f} %" for sense, share in missing.items())
        self._notes.content = f"{UNLEARNED} not learned: {shares} of what is asked" if shares else ""

    def warn(self, text: str) -> None:
        for client in self.server.get_clients().values():
            client.add_notification("ssr play", text, color="red")

    def apply_view(self) -> None:
        if self._view.value in VIEWS:
            self.scene.view = self._view.value
        self.scene.imagined, self.scene.footprints = self._imagined.value, self._footprints.value
        self.scene.show_cone(self._cone.value)

    def show_eye(self, depth: np.ndarray | None) -> None:
        if self._eye is not None and depth is not None:
            self._eye.image = depth_picture(depth, *self._range, EYE_SIDE)

    def show_readout(self, world: PlayWorld, rate: float) -> None:
        self._led.visible = world.leads
        self._readout.content = readout(world, rate, paused=self.paused)


def _chosen(slider: viser.GuiSliderHandle[float]) -> float:
    """What a slider says; the value nearest to 0 where a browser sent what no slider can say."""
    value = slider.value
    if isinstance(value, int | float) and slider.min <= value <= slider.max:
        return float(value)
    return float(np.clip(0.0, slider.min, slider.max))


def _set(slider: viser.GuiSliderHandle[float], value: float) -> None:
    # viser defines the setter apart from the getter, where mypy does not look for it.
    slider.value = value  # type: ignore[misc]

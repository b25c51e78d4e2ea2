"""The viewer in a real browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import browser
import numpy as np
import pytest
import viser
from PIL import Image

from ssr.evaluation import subject
from ssr.evaluation.subject import Subject
from ssr.robots.assembly import LEFT_FOOT, RIGHT_FOOT
from ssr.viewer.ground import Ground
from ssr.viewer.player import Player
from ssr.viewer.world import PlayWorld

pytestmark = pytest.mark.skipif(browser.find() is None, reason="Chromium is not installed")

SIZE = (900, 640)


@pytest.fixture()
def player(server: viser.ViserServer, untrained: Subject, run: Path) -> Iterator[Player]:
    """Paused and without shadows: software rendering is slow enough."""
    server.scene.configure_default_lights(cast_shadow=False)
    world = PlayWorld(untrained, Ground.of("stairs_up", 6))
    shown = Player(server, world, lambda: subject.load(str(run)), (0.5, 0.0, 0.0))
    shown.panel._toggle()
    stop = threading.Event()
    loop = threading.Thread(target=shown.run, args=(stop,))
    loop.start()
    yield shown
    stop.set()
    loop.join()


def eventually(fact: Callable[[], bool]) -> bool:
    until = time.monotonic() + browser.PATIENCE
    while not fact() and time.monotonic() < until:
        time.sleep(0.1)
    return fact()


def pixels_like(picture: np.ndarray, colour: tuple[float, ...]) -> int:
    """How many pixels have this hue: light and shade change the rest."""
    wanted = np.array(colour[:3]) / np.linalg.norm(colour[:3])
    rgb = picture.astype(float)
    cosine = rgb @ wanted / np.maximum(np.linalg.norm(rgb, axis=-1), 1e-6)
    return int((cosine > 0.98).sum())


def both_feet_are_seen(page: browser.Browser, file: Path) -> bool:
    page.screenshot(file)
    picture = np.asarray(Image.open(file).convert("RGB"))
    middle = picture[:, SIZE[0] // 4 : 5 * SIZE[0] // 8]
    return min(pixels_like(middle, colour) for colour in (RIGHT_FOOT, LEFT_FOOT)) > 100


def test_a_browser_shows_the_robot_and_steers_it(
    player: Player, server: viser.ViserServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{server.get_port()}"
    with browser.Browser(url, tmp_path / "profile", SIZE) as page:
        assert eventually(lambda: player.watched)
        page.wait_for("document.body.innerText.includes('What the robot sees')")
        page.wait_for("document.querySelector('img') !== null")
        text = page.run("document.body.innerText")
        assert "stairs up, level 6" in text and "falls 0" in text and "paused" in text

        assert eventually(lambda: both_feet_are_seen(page, tmp_path / "play.png"))

        for key in "IIJU":
            page.press(key)
        assert eventually(lambda: player.panel.command == (0.7, 0.1, 0.2))
        page.press("X")
        assert eventually(lambda: player.panel.command == (0.0, 0.0, 0.0))

        assert player.turns == 0
        page.click("Go on")
        assert eventually(lambda: player.turns > 5)
        page.press("P")
        assert eventually(lambda: player.panel.paused)

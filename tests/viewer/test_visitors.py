"""Only pages that `ssr play` served may steer it, and no browser's nonsense stops it."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest
import viser
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from ssr.evaluation import subject
from ssr.evaluation.subject import Subject
from ssr.viewer.player import Player
from ssr.viewer.visitors import stranger
from ssr.viewer.world import PlayWorld

HERE, ANYWHERE = "127.0.0.1", "0.0.0.0"


@pytest.mark.parametrize(
    "host, asked, origin, welcome",
    [
        (HERE, "localhost:8080", "http://localhost:8080", True),
        (HERE, "127.0.0.1:8080", "http://127.0.0.1:8080", True),
        (HERE, "[::1]:8080", "http://[::1]:8080", True),
        (HERE, "localhost:8080", None, True),
        (HERE, "localhost:8080", "http://evil.example", False),
        (HERE, "localhost:8080", "http://localhost:9999", False),
        (HERE, "localhost:8080", "null", False),
        (HERE, "evil.example:8080", "http://evil.example:8080", False),
        (HERE, "evil.example:8080", None, False),
        (HERE, "192.168.1.5:8080", None, False),
        (HERE, "localhost.evil.example", None, False),
        (HERE, "[bad", None, False),
        (HERE, "", None, False),
        (ANYWHERE, "192.168.1.5:8080", "http://192.168.1.5:8080", True),
        (ANYWHERE, "evil.example:8080", "http://evil.example:8080", False),
        (ANYWHERE, "192.168.1.5:8080", "http://evil.example", False),
    ],
)
def test_who_is_let_in(host: str, asked: str, origin: str | None, welcome: bool) -> None:
    headers = Headers({"Host": asked} | ({} if origin is None else {"Origin": origin}))
    assert (stranger(headers, host) == "") is welcome


def test_the_server_asks(server: viser.ViserServer) -> None:
    port = server.get_port()
    with connect(f"ws://127.0.0.1:{port}", origin=f"http://127.0.0.1:{port}"):  # type: ignore[arg-type]
        pass
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{port}", origin="http://evil.example")  # type: ignore[arg-type]
    for name, status in ((f"127.0.0.1:{port}", 200), ("evil.example", 403)):
        page = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        page.request("GET", "/", headers={"Host": name})
        assert page.getresponse().status == status
        page.close()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e9, "fast", None, [1.0], {}])
def test_what_no_slider_can_say_is_refused_without_a_traceback(
    server: viser.ViserServer, untrained: Subject, run: Path, value: object
) -> None:
    from ssr.viewer.ground import Ground

    world = PlayWorld(untrained, Ground.of("flat", 0))
    player = Player(server, world, lambda: subject.load(str(run)), (0.5, 0.0, 0.0))
    panel = player.panel
    for handle in (*panel._command, panel._push_speed, panel._kind, panel._level, panel._view):
        handle._impl.value = value  # as a message of a browser sets it
    panel.ask(lambda world: world.choose(panel.ground))
    panel.ask(panel._push)
    player.serve()
    player.draw()
    assert player.world.command == (0.0, 0.0, 0.0)

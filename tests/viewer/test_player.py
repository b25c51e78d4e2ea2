"""The loop, the panel and the command line, without a browser."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
import viser

from ssr.cli.main import main
from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.evaluation.steering import SENSES, Obeyed
from ssr.evaluation.subject import Subject
from ssr.viewer.ground import Ground
from ssr.viewer.panel import STEERING
from ssr.viewer.player import DRAW_EVERY, Pace, Player, open_server
from ssr.viewer.world import PlayWorld


@pytest.fixture()
def player(server: viser.ViserServer, untrained: Subject, run: Path) -> Player:
    world = PlayWorld(untrained, Ground.of("flat", 0))
    return Player(server, world, lambda: subject.load(str(run)), (0.5, 0.0, 0.0))


def test_a_turn_takes_the_command_from_the_sliders(player: Player) -> None:
    player.turn()
    assert player.world.command == (0.5, 0.0, 0.0)
    player.panel._command[2].value = -0.7
    player.turn()
    assert player.world.command == (0.5, 0.0, -0.7)


def test_keys_change_the_command_within_its_limits(player: Player) -> None:
    for _ in range(30):
        player.panel._steer(STEERING["I"][1])
        player.panel._steer(STEERING["J"][1])
    assert player.panel.command == (1.2, 0.0, 1.2)
    player.panel._steer(STEERING["O"][1])
    assert player.panel.command == (1.2, -0.1, 1.2)
    player.panel.halt()
    assert player.panel.command == (0.0, 0.0, 0.0)


def test_buttons_for_fingers_do_what_keys_do(player: Player) -> None:
    for button in "▲▲◀▼▶▶":
        player.panel._touch(button)
    assert player.panel.command == (0.6, 0.0, -0.2)
    player.panel._touch("■")
    assert player.panel.command == (0.0, 0.0, 0.0)


def test_sliders_that_ask_for_what_was_not_learned_are_marked(player: Player) -> None:
    learned = {sense: Obeyed(share=0.9, fell=0.0) for sense in SENSES}
    player.panel.mark(learned)
    assert not any("⚠" in slider.label for slider in player.panel._command)
    player._told = lambda: learned | {"left": Obeyed(share=0.1, fell=0.0)}
    player.draw()
    assert ["⚠" in slider.label for slider in player.panel._command] == [False, True, False]
    assert "left 10 %" in player.panel._notes.content


def test_keys_are_none_that_move_the_onlooker() -> None:
    assert not set(STEERING) & set("WASDQE")


def test_another_terrain_is_walked_and_shown(player: Player) -> None:
    player.panel._kind.value = "gap"
    player.panel._level.value = 8
    until = threading.Event()
    for _ in range(100):  # callbacks run in the server's threads
        player.serve()
        if player.world.ground == Ground.of("gap", 8):
            break
        until.wait(0.05)
    assert player.world.walk.trail.route.pieces[0].kind == "gap"
    for _ in range(DRAW_EVERY):
        player.turn()
    assert player.scene.laid.keys() == player.world.scenery().keys()


def test_requests_are_done_in_the_loop(player: Player) -> None:
    for _ in range(5):
        player.turn()
    player.panel.ask(lambda world: world.begin())
    assert player.world.steps == 5
    player.turn()
    assert player.world.steps == 1


def test_newest_weights_start_anew(player: Player) -> None:
    before = player.world.subject
    player.turn()
    player.panel.ask(player._renew)
    player.serve()
    assert player.world.subject is not before
    assert player.world.steps == 0


def test_a_request_that_fails_is_told_and_survived(player: Player) -> None:
    def missing() -> Subject:
        raise UserError("gone")

    told: list[str] = []
    player.renewed, player.panel.warn = missing, told.append
    player.panel.ask(player._renew)
    player.turn()
    assert told == ["gone"]


def test_the_readout_tells_command_speed_and_falls(player: Player) -> None:
    player.world.tally["fell"] = 3
    for _ in range(10):
        player.turn()
    text = player.panel._readout.content
    assert "+0.50" in text and "falls <b>3</b>" in text and "iteration 7" in text


def test_without_a_browser_the_world_rests(player: Player) -> None:
    stop = threading.Event()
    loop = threading.Thread(target=player.run, args=(stop,))
    loop.start()
    stop.wait(0.3)
    stop.set()
    loop.join(timeout=10)
    assert not loop.is_alive()
    assert player.turns == 0


def test_the_loop_keeps_real_time_and_gives_up_what_it_lost() -> None:
    now, slept = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    pace = Pace(0.02, clock=lambda: now, sleep=sleep)
    for _ in range(100):
        now += 0.005
        pace.wait()
    assert now == pytest.approx(2.0)
    assert pace.rate == pytest.approx(1.0)
    now += 5.0
    pace.wait()
    slept.clear()
    now += 0.005
    pace.wait()
    assert slept == pytest.approx([0.015])  # no hurry to catch up on five seconds
    for _ in range(200):
        now += 0.04
        pace.wait()
    assert pace.rate == pytest.approx(0.5, rel=0.05)


# ---- command line --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["scripted:dance"], "Unknown scripted policy: 'dance'"),
        (["scripted:stand", "--terrain", "lava"], "Unknown terrain kind: 'lava'"),
        (["scripted:stand", "--level", "20"], "--level 20: expected a whole number from 0 to 19."),
        (["scripted:stand", "--speed", "3"], "--speed 3: expected -1 to 1.2 m/s."),
        (["scripted:stand", "--port", "70000"], "--port 70000: expected a whole number from 0 to 65535."),
        (["scripted:stand", "--host", "256.0.0.1"], "Cannot listen on 256.0.0.1:8080"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_a_busy_port_is_an_error_and_not_the_next_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"Cannot listen on 127.0.0.1:{port}"):
            open_server("127.0.0.1", port)


def test_ctrl_c_stops_cleanly() -> None:
    command = [sys.executable, "-m", "ssr.cli.main", "play", "scripted:stand", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        with urllib.request.urlopen(url) as page:
            assert b"<html" in page.read()[:2000]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors

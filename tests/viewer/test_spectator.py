"""Watching a robot that another program moves."""

from __future__ import annotations

import socket
import urllib.request
from dataclasses import replace

import numpy as np
import pytest

from ssr.errors import UserError
from ssr.rehearsal.config import GantryConfig
from ssr.rehearsal.simulated_robot import SimulatedRobot
from ssr.rehearsal.trial import strip
from ssr.robots import load
from ssr.viewer.spectator import HEAD, Spectator, links_of, moment, said

ROBOT, TILE = load("x2"), strip("flat")


def test_what_the_robot_shows_is_what_is_drawn() -> None:
    moved = SimulatedRobot(ROBOT, TILE, gantry=GantryConfig(mode="none"))
    assert moved.link_names == links_of(ROBOT)
    values = np.zeros(HEAD + 7 * len(moved.link_names))
    with Spectator(ROBOT, TILE, 0) as spectator:
        with urllib.request.urlopen(spectator.url) as page:
            assert b"<html" in page.read()[:2000]
        moved.place((3.0, 0.5, 0.7), ROBOT.values("default"), yaw=0.4)
        spectator.show(1.25, *moved.link_poses(), hanging=False, fallen=True)
        values[:] = spectator._values
    seen = moment(values, ROBOT)
    np.testing.assert_allclose(seen.base_position, (3.0, 0.5, 0.7))
    assert seen.base_yaw == pytest.approx(0.4) and seen.seconds == 1.25
    np.testing.assert_array_equal(seen.link_position, moved.link_poses()[0])
    assert "fallen" in said(values, TILE) and "gantry" not in said(values, TILE)
    with pytest.raises(OSError):
        urllib.request.urlopen(spectator.url, timeout=2)


def test_a_busy_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"Cannot listen on 127.0.0.1:{port}"):
            Spectator(replace(ROBOT), TILE, port)

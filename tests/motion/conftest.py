"""Two bodies: the robot motion is brought to, and one of human size to record."""

from __future__ import annotations

import pytest

from ssr import robots
from ssr.motion.solver import Solver


@pytest.fixture(scope="session")
def x2_solver() -> Solver:
    return Solver(robots.load("x2"))


@pytest.fixture(scope="session")
def person() -> Solver:
    """A body of human size."""
    return Solver(robots.load("dr02"))

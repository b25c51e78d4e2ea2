"""Whom a sitting obeys: one operator, and anybody who says damp."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from stand_ins import Bench

from ssr.deployment.config import DeployConfig
from ssr.deployment.contract import Contract
from ssr.deployment.controller import Phase
from ssr.deployment.messages import String, Twist, Vector3
from ssr.deployment.runtime import Runtime


class Ear:
    """A reader whose messages a test puts in."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.strangers: list[Any] = []
        self.author: object = None
        self.settled, self.pinned = False, []

    def take(self) -> list[Any]:
        found, self.waiting = self.waiting, []
        return found

    def pin(self, author: object) -> None:
        self.pinned.append(author)


@pytest.fixture()
def sitting(contract: Contract) -> Runtime:
    runtime: Any = Runtime.__new__(Runtime)
    bench = Bench(contract)
    bench.tick(5)
    runtime.bench, runtime.controller, runtime.config = bench, bench.controller, DeployConfig()
    for name in ("joints", "imu", "velocity", "requests", "cries", "images"):
        setattr(runtime, name, Ear())
    runtime.recording, runtime.say = None, lambda words: None
    runtime.depth = SimpleNamespace(trouble=lambda: "")
    return runtime  # type: ignore[no-any-return]


def obey(sitting: Any, **said: list[Any]) -> Phase:
    for name, messages in said.items():
        ear, _, heard = name.partition("_")
        setattr(getattr(sitting, ear), heard or "waiting", messages)
    sitting._obey(sitting.bench.now, None)
    sitting.requests.strangers = []
    sitting.bench.tick(200)
    phase: Phase = sitting.controller.phase
    return phase


def test_a_stranger_may_ask_for_nothing_but_damp(sitting: Any) -> None:
    assert obey(sitting, requests_strangers=[String("stand")]) is Phase.IDLE
    assert obey(sitting, cries=[String("stand")]) is Phase.IDLE
    assert obey(sitting, requests=[String("stand")]) is Phase.STAND
    assert obey(sitting, requests_strangers=[String("walk"), String("idle")]) is Phase.STAND
    assert obey(sitting, requests_strangers=[String("walk"), String("damp")]) is Phase.DAMP


def test_damp_is_heard_from_who_offers_best_effort_only(sitting: Any) -> None:
    assert obey(sitting, requests=[String("stand")]) is Phase.STAND
    assert obey(sitting, cries=[String("walk"), String("damp")]) is Phase.DAMP


def test_damp_comes_before_what_else_was_asked_at_the_same_time(sitting: Any) -> None:
    assert obey(sitting, requests=[String("stand")]) is Phase.STAND
    assert obey(sitting, requests=[String("walk")], cries=[String("damp")]) is Phase.DAMP
    assert obey(sitting, requests=[String("idle")]) is Phase.IDLE
    assert obey(sitting, requests=[String("stand")]) is Phase.STAND
    assert obey(sitting, requests=[String("damp"), String("idle")]) is Phase.DAMP, "it would be limp at once"


def test_from_standing_up_on_nobody_new_is_heard_until_nothing_moves(sitting: Any) -> None:
    body = [sitting.joints, sitting.imu, sitting.velocity, sitting.requests]
    sitting.requests.author = "operator"
    obey(sitting, requests=[String("stand")])
    assert sitting.velocity.pinned == ["operator"], "who asked it to stand may steer"
    assert all(ear.settled for ear in body) and not sitting.images.settled
    assert obey(sitting, requests=[String("walk")]) is Phase.WALK
    assert all(ear.settled for ear in body) and sitting.images.settled
    obey(sitting, requests=[String("damp")])
    assert not any(ear.settled for ear in (*body, sitting.images))


def test_a_velocity_that_is_not_finite_does_not_replace_the_last_one(sitting: Any) -> None:
    good, bad = (Twist(Vector3(v, 0.0, 0.0), Vector3()) for v in (0.3, float("nan")))
    obey(sitting, velocity=[good])
    obey(sitting, velocity=[bad])
    assert sitting.controller.velocity(sitting.bench.now)[0] == 0.3

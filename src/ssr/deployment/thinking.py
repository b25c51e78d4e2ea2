"""Who computes the next action: at once (lockstep), or beside the command stream (on the robot)."""

from __future__ import annotations

import threading
from typing import Protocol

import numpy as np


class ActingPolicy(Protocol):
    def reset(self) -> None: ...
    def act(self, history: np.ndarray, depth: np.ndarray) -> np.ndarray: ...


class Thinker(Protocol):
    def forget(self) -> None:
        """A new walk begins."""

    def ask(self, history: np.ndarray, depth: np.ndarray) -> None:
        """Begin to think about one control step."""

    def answer(self) -> np.ndarray | None:
        """The action (J,) once it is ready, and only once."""


class Immediate:
    def __init__(self, policy: ActingPolicy) -> None:
        self._policy = policy
        self._action: np.ndarray | None = None

    def forget(self) -> None:
        self._policy.reset()
        self._action = None

    def ask(self, history: np.ndarray, depth: np.ndarray) -> None:
        self._action = self._policy.act(history, depth)

    def answer(self) -> np.ndarray | None:
        action, self._action = self._action, None
        return action


class Background:
    """A thread of its own, so that inference never delays the command stream."""

    def __init__(self, policy: ActingPolicy) -> None:
        self._policy = policy
        self._wake = threading.Condition()
        self._question: tuple[int, np.ndarray, np.ndarray] | None = None
        self._answer: tuple[int, np.ndarray] | None = None
        self._walk = 0  #: number of this walk; answers to an earlier one are not wanted
        self._stop = False
        self._thread = threading.Thread(target=self._work, name="thinker", daemon=True)
        self._thread.start()

    def forget(self) -> None:
        with self._wake:
            self._walk += 1
            self._question = self._answer = None

    def ask(self, history: np.ndarray, depth: np.ndarray) -> None:
        with self._wake:
            self._question = (self._walk, history, depth)
            self._wake.notify()

    def answer(self) -> np.ndarray | None:
        with self._wake:
            found, self._answer = self._answer, None
        return found[1] if found and found[0] == self._walk else None

    def close(self) -> None:
        with self._wake:
            self._stop = True
            self._wake.notify()
        self._thread.join(timeout=1.0)

    def _work(self) -> None:
        current = -1
        while True:
            with self._wake:
                while self._question is None and not self._stop:
                    self._wake.wait()
                if self._question is None:
                    return
                (walk, history, depth), self._question = self._question, None
            if walk != current:
                self._policy.reset()
                current = walk
            action = self._policy.act(history, depth)
            with self._wake:
                self._answer = (walk, action)

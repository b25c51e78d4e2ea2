"""What happened on a long walk, and where; kept on disk so that it goes on where it was stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from ssr.errors import UserError
from ssr.files import DAMAGED, with_seal, without_seal, write_json

LOG, STATE = "walk.json", "state.safetensors"
FORMAT = 1

Event = dict[str, Any]  #: `what` (fall, stall, recovery, misstep, carried), `at` (m), x, y, z, seconds, piece


@dataclass(kw_only=True)
class HikeLog:
    policy: str  #: digest of the policy, as `Subject.digest`
    code: str  #: digest of the code that walked
    seed: int
    length: float  #: m
    speed: float  #: m/s asked for
    done: float = 0.0  #: m on the way
    carried: float = 0.0  #: m of these that it was carried
    seconds: float = 0.0
    energy: float = 0.0  #: J
    landings: int = 0
    finished: bool = False
    events: list[Event] = field(default_factory=list)
    track: list[list[float]] = field(default_factory=list)  #: x, y, z, m on the way; once a second

    def count(self, what: str) -> int:
        return sum(event["what"] == what for event in self.events)

    @property
    def falls(self) -> list[Event]:
        return [event for event in self.events if event["what"] in ("fall", "stall")]

    @property
    def first_fall(self) -> float:
        """m walked before the first fall or stall; all of it without one."""
        return float(self.falls[0]["at"]) if self.falls else self.done

    @property
    def joules_per_metre(self) -> float:
        return self.energy / max(self.done - self.carried, 1e-9)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / LOG, with_seal({"format": FORMAT} | vars(self)))

    def text(self) -> str:
        """For `parse`."""
        return json.dumps({"format": FORMAT} | vars(self))

    def summary(self) -> dict[str, Any]:
        return {
            "missteps": self.count("misstep"),
            "falls": self.count("fall"),
            "stalls": self.count("stall"),
            "recoveries": self.count("recovery"),
            "seed": self.seed,
            "done": round(self.done, 1),
            "first_fall": round(self.first_fall, 1),
            "carried_metres": round(self.carried, 1),
            "seconds": round(self.seconds, 1),
            "joules_per_metre": round(self.joules_per_metre, 1),
            "safe": round(1.0 - self.count("misstep") / max(self.landings, 1), 4),
        }


def parse(text: str) -> HikeLog | None:
    """None if it is of another format."""
    content = without_seal(text)
    return HikeLog(**content) if content.pop("format") == FORMAT else None


def load(folder: Path) -> HikeLog | None:
    """None where there is none, or one of another format."""
    path = folder / LOG
    try:
        return parse(path.read_text()) if path.is_file() else None
    except DAMAGED as error:
        raise UserError(f"{path} is damaged. Remove it and run `ssr course` again.") from error


def load_state(folder: Path) -> dict[str, Tensor]:
    """What a walk goes on from, by name; empty where there is nothing."""
    path = folder / STATE
    try:
        return load_file(str(path)) if path.is_file() else {}
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is damaged. Remove it and run `ssr course` again.") from error


def spread(values: list[float]) -> tuple[float, float]:
    """Mean and best."""
    return float(np.mean(values)), float(np.max(values))

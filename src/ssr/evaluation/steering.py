"""Which commands a policy has learned to follow: measured once, kept beside its weights."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path

import numpy as np
import torch

from ssr import pretrained
from ssr.errors import UserError
from ssr.evaluation import directions
from ssr.evaluation.subject import Subject, load
from ssr.files import DAMAGED, write_json

FILE, FORMAT = "steering.json", 1
LEARNED = (
    0.5  #: share of what is asked that a policy does which has learned it, and of trials that it outlives
)

#: what is asked, and where in `directions.commands`
SENSES = {"forward": 0, "backward": 4, "left": 2, "right": 6, "turn left": 8, "turn right": 9}


@dataclass(frozen=True, kw_only=True)
class Obeyed:
    share: float  #: speed along the command, or turn, ÷ what was asked
    fell: float  #: share of trials

    @property
    def learned(self) -> bool:
        return self.share >= LEARNED and self.fell <= 1.0 - LEARNED


Steering = dict[str, Obeyed]  #: by sense


def of(paths: directions.Paths) -> Steering:
    asked = np.array(directions.commands())
    aims, turned, falls = asked[:, :2] * directions.SECONDS, paths.turned_share(), paths.falls()
    found = {}
    for sense, k in SENSES.items():
        turn = turned[k]
        if turn is None:
            along = paths.position[k, :, -1] @ aims[k] / (aims[k] @ aims[k])
            turn = float(along.mean())
        found[sense] = Obeyed(share=round(turn, 3), fell=round(float(falls[k]), 3))
    return found


def digest(subject: Subject) -> str:
    """Of the weights alone: settings that were added since do not change what they can do."""
    total = hashlib.sha256()
    weights = {} if subject.policy is None else subject.policy.weights()
    for name in sorted(weights):
        total.update(name.encode())
        total.update(weights[name].detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def kept(source: str, subject: Subject) -> Steering | None:
    """What was measured of these very weights, if it was."""
    own = digest(subject)
    path = pretrained.located(source)
    for folder in (path if path.is_dir() else path.parent, pretrained.home(source)):
        try:
            content = json.loads((folder / FILE).read_text())
            if content["format"] == FORMAT and content["weights"] == own:
                return {sense: Obeyed(**content["followed"][sense]) for sense in SENSES}
        except DAMAGED:
            continue
    return None


def keep(folder: Path, subject: Subject, steering: Steering) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    followed = {sense: vars(found) for sense, found in steering.items()}
    write_json(folder / FILE, {"format": FORMAT, "weights": digest(subject), "followed": followed})


def measure(source: str, iteration: int | None) -> None:
    """Measured now, and kept in the subject's own folder."""
    torch.set_num_threads(1)
    subject = load(source, iteration)
    keep(pretrained.home(source), subject, of(directions.walk(subject, seed=0)))


class Measurement:
    """Done in a process of its own if it was not done before; call it to hear whether it is known now."""

    def __init__(self, source: str, subject: Subject, iteration: int | None) -> None:
        self._source, self._subject = source, subject
        self.known = kept(source, subject) if subject.policy is not None else {}
        self._process: SpawnProcess | None = None
        if self.known is None:
            arguments = (source, iteration)
            self._process = get_context("spawn").Process(target=_aside, args=arguments, daemon=True)
            self._process.start()

    def __call__(self) -> Steering | None:
        if self.known is None and self._process is not None and not self._process.is_alive():
            self.known, self._process = kept(self._source, self._subject) or {}, None
        return self.known


def _aside(source: str, iteration: int | None) -> None:
    os.nice(10)  # whoever is looked at meanwhile goes first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its parent
    with suppress(OSError, UserError):  # then it is measured again next time
        measure(source, iteration)

"""What was seen in earlier rollouts, so that eyes do not learn from the newest half a second alone.

The steps of one rollout are alike: half a second of every world. Learned from as they come, edges that had
been seen were forgotten again whenever the worlds changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

KEPT_AN_UPDATE = 2  #: minibatches of every update that are kept


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """T steps of m worlds: what the encoder sees and what it must predict."""

    history: Tensor  #: (T, m, h, P)
    images: Tensor  #: (f, rows, columns) m, distinct
    frame_index: Tensor  #: (T, m)
    hidden: Tensor  #: (m, H) before the first step
    resets: Tensor  #: (T, m) bool
    privileged: Tensor  #: (T, m, S)
    next_proprioception: Tensor  #: (T, m, P)
    valid: Tensor  #: (T, m) bool
    unbroken: Tensor  #: (T, m) bool: the next frame belongs to the same episode


def side_by_side(one: Sequences, other: Sequences) -> Sequences:
    """The worlds of both, (T, m1 + m2, ...)."""
    joined = {
        name: torch.cat((getattr(one, name), getattr(other, name)), 1)
        for name in (f.name for f in fields(Sequences))
        if name not in ("images", "hidden", "frame_index")
    }
    return Sequences(
        images=torch.cat((one.images, other.images)),
        hidden=torch.cat((one.hidden, other.hidden)),
        frame_index=torch.cat((one.frame_index, other.frame_index + len(one.images)), 1),
        **joined,
    )


class Recollection:
    """The newest minibatches that were put in, half as precise as they were."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._kept: list[Sequences] = []
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, batch: Sequences) -> None:
        """In place of the oldest one, if there are as many as there may be."""
        kept = Sequences(**{name: _halved(value) for name, value in _parts(batch)})
        if len(self._kept) < self.capacity:
            self._kept.append(kept)
        else:
            self._kept[self._oldest] = kept
            self._oldest = (self._oldest + 1) % self.capacity

    def draw(self) -> Sequences:
        """Any of them."""
        drawn = self._kept[int(torch.randint(len(self._kept), ()))]
        return Sequences(**{n: v.float() if v.is_floating_point() else v for n, v in _parts(drawn)})

    def state_dict(self) -> dict[str, Any]:
        return {"kept": [dict(_parts(batch)) for batch in self._kept], "oldest": self._oldest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._kept = [Sequences(**batch) for batch in state["kept"]]
        self._oldest = int(state["oldest"])


def _parts(batch: Sequences) -> Iterator[tuple[str, Tensor]]:
    return ((f.name, getattr(batch, f.name)) for f in fields(Sequences))


def _halved(value: Tensor) -> Tensor:
    return value.half() if value.is_floating_point() else value.clone()

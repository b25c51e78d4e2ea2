"""What is read of the worlds: every field of a state, once, and the table in which an engine keeps them.

Each world has its own tile; all positions are in that world's tile frame. Right comes before left.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Generic, NamedTuple, TypeVar, get_type_hints

import numpy as np
import torch
from torch import Tensor

Array = TypeVar("Array")
JOINTS = -1  #: as a length below: one entry per policy joint


class State(NamedTuple, Generic[Array]):
    """Worlds after a step. Annotated is one world's share; a field of n worlds is (n, *share).

    Kernels that take a state as a plain tuple are cached by the types in it, not by the names: whoever
    reorders fields deletes the `__pycache__` folders.
    """

    base_position: Annotated[Array, 3]
    base_quaternion: Annotated[Array, 4]  #: w x y z
    base_velocity: Annotated[Array, 3]  #: of the base origin, world axes
    base_angular_velocity: Annotated[Array, 3]  #: base axes
    joint_position: Annotated[Array, JOINTS]
    joint_velocity: Annotated[Array, JOINTS]
    applied_torque: Annotated[Array, JOINTS]  #: after clamping, last substep
    sole_position: Annotated[Array, 2, 3]  #: centre of each sole
    sole_yaw: Annotated[Array, 2]  #: heading of each foot
    foot_velocity: Annotated[Array, 2, 3]  #: of the sole centre, world axes
    foot_force: Annotated[Array, 2, 3]  #: net contact force on the sole, world axes
    hand_position: Annotated[Array, 2, 3]
    body_force: Array  #: largest contact force on base or torso, N
    yaw: Array  #: heading of the base
    gravity: Annotated[Array, 3]  #: unit gravity, base frame
    local_velocity: Annotated[Array, 3]  #: base velocity, base frame
    local_foot_velocity: Annotated[Array, 2, 3]  #: base frame
    local_hand_position: Annotated[Array, 2, 3]  #: from the base origin, base frame
    local_sole_position: Annotated[Array, 2, 3]
    finite: Array  #: bool, false where the world has blown up; the one field that is no measurement


class PhysicsState(State[Tensor]):
    """A state as tensors, the caller's own."""

    __slots__ = ()


class Reading(State[np.ndarray]):
    """A state as NumPy arrays, for kernels: views of one table."""

    __slots__ = ()


def shapes_of(joints: int) -> dict[str, tuple[int, ...]]:
    """One world's share of each field but `finite`."""
    hints = get_type_hints(State, include_extras=True)
    shares = {name: getattr(hints[name], "__metadata__", ()) for name in State._fields if name != "finite"}
    return {name: tuple(joints if k == JOINTS else k for k in share) for name, share in shares.items()}


class Readout:
    """A state in arrays that stay: making twenty arrays takes longer than filling them.

    table (n, C): a row per world; columns: which of them is what; reading: the same by name, as views.
    """

    def __init__(self, worlds: int, joints: int, dtype: torch.dtype) -> None:
        shapes = shapes_of(joints)
        ends = np.cumsum([prod(shape) for shape in shapes.values()]).tolist()
        self.columns = {
            name: slice(end - prod(shape), end)
            for end, (name, shape) in zip(ends, shapes.items(), strict=True)
        }
        self.table = torch.zeros(worlds, ends[-1], dtype=dtype).numpy()
        views = {name: self.table[:, self.columns[name]].reshape(worlds, *shapes[name]) for name in shapes}
        self.reading = Reading(**views, finite=np.ones(worlds, dtype=bool))

    def copy(self) -> PhysicsState:
        """What it says now."""
        arrays = self.reading._asdict()
        return PhysicsState(**{name: torch.from_numpy(value.copy()) for name, value in arrays.items()})

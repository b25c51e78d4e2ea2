"""The privileged state as a Warp kernel, one thread an entry: the maps would keep a thread a world busy."""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type, misc"

from typing import Any

import numpy as np
import torch
import warp as wp
from torch import Tensor

from ssr import bridge
from ssr.physics.readout import Reading
from ssr.symmetry.filling import Filling
from ssr.terrain.field import TerrainField
from ssr.terrain.heights_warp import height_at
from ssr.vision.heightmap import CLIP, Samples


@wp.struct
class Known:
    """As `ssr.task.observations.Sources`, with what says where the maps are taken."""

    table: wp.array2d(dtype=wp.float32)
    command: wp.array2d(dtype=wp.float32)
    action: wp.array2d(dtype=wp.float32)
    contact: wp.array2d(dtype=wp.bool)
    base: wp.array2d(dtype=wp.float32)
    yaw: wp.array(dtype=wp.float32)
    sole: wp.array3d(dtype=wp.float32)
    sole_yaw: wp.array2d(dtype=wp.float32)
    facets: wp.array3d(dtype=wp.float32)
    facet_count: wp.array(dtype=wp.int32)


@wp.struct
class Entries:
    """As `Filling` and `Samples`."""

    source: wp.array(dtype=wp.int32)
    shift: wp.array(dtype=wp.float32)
    scale: wp.array(dtype=wp.float32)
    base: wp.array2d(dtype=wp.float32)
    foot: wp.array2d(dtype=wp.float32)
    drop: float


@wp.func
def below(known: Known, i: int, center: wp.vec3, yaw: float, ahead: float, aside: float):
    """How far below `center` the ground is at a place from there, in a frame turned by yaw."""
    c = wp.cos(yaw)
    s = wp.sin(yaw)
    x = center[0] + c * ahead - s * aside
    y = center[1] + s * ahead + c * aside
    height = height_at(known.facets, known.facet_count[i], i, x, y)
    return wp.min(wp.max(center[2] - height, -CLIP), CLIP)


@wp.func
def fact(known: Known, entries: Entries, i: int, source: int):
    """The facts of a world in a row: reading, command, action, contacts, maps."""
    read = known.table.shape[1]
    joints = known.action.shape[1]
    spots = entries.base.shape[0]
    size = entries.foot.shape[0]
    if source < read:
        return known.table[i, source]
    k = source - read
    if k < 3:
        return known.command[i, k]
    k = k - 3
    if k < joints:
        return known.action[i, k]
    k = k - joints
    if k < 2:
        return wp.where(known.contact[i, k], 1.0, 0.0)
    k = k - 2
    if k < spots:
        base = wp.vec3(known.base[i, 0], known.base[i, 1], known.base[i, 2] - entries.drop)
        return below(known, i, base, known.yaw[i], entries.base[k, 0], entries.base[k, 1])
    k = k - spots
    s = k // size
    at = k - s * size
    sole = wp.vec3(known.sole[i, s, 0], known.sole[i, s, 1], known.sole[i, s, 2])
    return below(known, i, sole, known.sole_yaw[i, s], entries.foot[at, 0], entries.foot[at, 1])


@wp.kernel(enable_backward=False)
def fill(chosen: wp.array(dtype=wp.bool), known: Known, entries: Entries, out: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    if chosen[i]:
        out[i, j] = (fact(known, entries, i, entries.source[j]) - entries.shift[j]) * entries.scale[j]


class DevicePrivileged:
    """Writes the privileged state of worlds whose tensors stay."""

    def __init__(
        self,
        table: Tensor,
        reading: Reading,
        field: TerrainField,
        command: Tensor,
        action: Tensor,
        contact: Tensor,
        samples: Samples,
        filling: Filling,
    ) -> None:
        self._device = table.device
        self._known = Known()
        tensors: dict[str, Any] = {
            "table": table, "command": command, "action": action, "contact": contact,
            "base": reading.base_position, "yaw": reading.yaw, "sole": reading.sole_position,
            "sole_yaw": reading.sole_yaw, "facets": field.facets, "facet_count": field.facet_count,
        }  # fmt: skip
        for name, tensor in tensors.items():
            setattr(self._known, name, bridge.array(tensor))
        there = lambda values, kind: torch.from_numpy(np.ascontiguousarray(values, dtype=kind)).to(
            self._device
        )
        self._kept = {
            "source": there(filling.source, np.int32), "shift": there(filling.shift, np.float32),
            "scale": there(filling.scale, np.float32), "base": there(samples.base, np.float32),
            "foot": there(samples.foot, np.float32),
        }  # fmt: skip
        self._entries = Entries()
        for name, tensor in self._kept.items():
            setattr(self._entries, name, bridge.array(tensor))
        self._entries.drop = samples.drop

    def __call__(self, chosen: Tensor, out: Tensor) -> None:
        """Into the rows of out (n, S) that are chosen (n,)."""
        inputs = [bridge.array(chosen), self._known, self._entries]
        bridge.launch(fill, tuple(out.shape), inputs, [bridge.array(out)], self._device)

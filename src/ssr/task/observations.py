"""Building the flat vectors of `Layouts` from what is read, asked and done."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.kept import kept
from ssr.per_world import per_world, single
from ssr.physics.readout import Reading
from ssr.robots.spec import RobotSpec
from ssr.symmetry.filling import Filling, filling
from ssr.symmetry.layout import Layout
from ssr.symmetry.vectors import BASE_MAP, FOOT_MAP, Layouts
from ssr.terrain.field import FieldArrays, TerrainField
from ssr.vision.heightmap import Samples, maps_of, samples_of

#: Half-widths of the uniform noise on the policy's proprioception: rad/s, unit vector, rad, rad/s
NOISE = {"angular_velocity": 0.35, "gravity": 0.035, "joint_position": 0.01, "joint_velocity": 1.0}


def noise_widths(layout: Layout, share: float) -> Tensor:
    """Half-width of the uniform noise on each entry, scaled as the vector is, at this share of `NOISE`."""
    widths = torch.zeros(layout.size)
    for name, width in NOISE.items():
        segment = next(s for s in layout if s.name == name)
        widths[layout.slice(name)] = share * width * torch.as_tensor(segment.scale, dtype=torch.float32)
    return widths


@per_world()
def remember(history, clean, widths, chance, began, i, k):
    """Add a noisy frame to a history of (n, h, P) and drop the oldest; if it `began` (n,) it is full of it.

    clean (n, P); widths (P,) of the noise; chance (n, P) uniform in [0, 1).
    """
    last = history.shape[1] - 1
    for f in range(last):
        for j in range(widths.shape[0]):
            history[i, f, j] = history[i, f + 1, j]
    for j in range(widths.shape[0]):
        noise = single(2.0) * chance[i, j] - single(1.0)
        history[i, last, j] = clean[i, j] + widths[j] * noise
    if began[i]:
        for f in range(last):
            for j in range(widths.shape[0]):
                history[i, f, j] = history[i, last, j]


class Sources(NamedTuple):
    """What is known of n worlds besides their reading and their ground."""

    table: np.ndarray  #: (n, C) the whole reading
    command: np.ndarray  #: (n, 3) u
    action: np.ndarray  #: (n, J) the newest
    contact: np.ndarray  #: (n, 2) bool


class Senses:
    """The clean vectors of one robot's worlds, from arrays that stay."""

    def __init__(
        self,
        robot: RobotSpec,
        layouts: Layouts,
        readout: Any,
        field: TerrainField,
        command: Any,
        action: Any,
        contact: Any,
    ) -> None:
        """readout: a `Readout`, or a device's; command (n, 3): u; action (n, J): the newest; contact (n, 2)
        bool. All are their owners' arrays, or the device's tensors."""
        own, whole = layouts.proprioception, layouts.privileged
        assert whole.segments[: len(own.segments)] == own.segments, (
            "privileged state begins with proprioception"
        )
        self.measured = own.size
        self._table = readout.table
        columns = dict(readout.columns)
        end = readout.table.shape[1]
        sizes = {"command": 3, "previous_action": action.shape[1], "foot_contact": 2}
        sizes |= {
            "base_height_map": BASE_MAP[0] * BASE_MAP[1],
            "foot_height_maps": 2 * FOOT_MAP[0] * FOOT_MAP[1],
        }
        for name, size in sizes.items():
            columns[name] = slice(end, end + size)
            end += size
        self.amp = filling(layouts.amp, columns)
        privileged = filling(whole, columns)
        privileged.shift[whole.slice("joint_position")] = robot.values("default")
        drop = robot.base_height_target - robot.base_height_offset  # m from the base to level ground
        samples = samples_of(robot.sole, drop)
        if isinstance(readout.table, Tensor):
            from ssr.task.privileged_warp import DevicePrivileged

            self._over_tensors = DevicePrivileged(
                readout.table, readout.reading, field, command, action, contact, samples, privileged
            )
            there = lambda values: torch.from_numpy(np.asarray(values)).to(readout.table.device)
            self._amp = tuple(map(there, self.amp))
            return
        self._state, self._ground = tuple(readout.reading), tuple(field.arrays)
        self._sources = tuple(Sources(table=readout.table, command=command, action=action, contact=contact))
        self._samples, self._filling = tuple(samples), tuple(privileged)

    def privileged(self, worlds: Any, out: Tensor) -> None:
        """Write the privileged state of these worlds, told as to a rule, into their rows of out (n, S)."""
        if isinstance(worlds, Tensor):
            self._over_tensors(worlds, out)
            return
        arrays = (self._sources, self._state, self._ground, self._samples, self._filling)
        _privileged(worlds, *arrays, out.numpy())

    def amp_frame(self) -> Tensor:
        """(n, 63) one frame of the motion prior; joint positions are absolute there."""
        if isinstance(self._table, Tensor):
            source, shift, scale = self._amp
            return (self._table.index_select(1, source) - shift) * scale
        return torch.from_numpy(self.amp.filled(self._table))


@kept(error_model="numpy")
def _privileged(worlds, sources, state, ground, samples, entries, out):
    known, now, tile, entry = Sources(*sources), Reading(*state), FieldArrays(*ground), Filling(*entries)
    read, joints, size = known.table.shape[1], known.action.shape[1], len(Samples(*samples).points)
    maps = read + 3 + joints + 2
    facts = np.empty(maps + size, dtype=np.float32)
    for i in worlds:
        facts[:read] = known.table[i]
        facts[read : read + 3] = known.command[i]
        facts[read + 3 : maps - 2] = known.action[i]
        facts[maps - 2], facts[maps - 1] = known.contact[i, 0], known.contact[i, 1]
        maps_of(
            tile.facets[i], tile.facet_count[i], now.base_position[i], now.yaw[i],
            now.sole_position[i], now.sole_yaw[i], samples, facts[maps:],
        )  # fmt: skip
        for j in range(len(entry.source)):
            out[i, j] = (facts[entry.source[j]] - entry.shift[j]) * entry.scale[j]

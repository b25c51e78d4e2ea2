"""`DepthRenderer`: depth images of many worlds in one call (Algorithm 1, Appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from ssr.errors import UserError, unknown
from ssr.robots.spec import Shape
from ssr.vision.solids import LinkSolids, pack

Backend = Literal["auto", "compiled", "warp"]
BACKENDS: tuple[Backend, ...] = ("auto", "compiled", "warp")


class DepthRenderer:
    """Sees terrain boxes and the robot's own link shapes.

    shapes: the solids on the robot's links; links: the link names in the order of `link_position`.
    near, far: depths in metres between which images are clamped. A ray that meets nothing is `far`; a camera
    inside a solid sees `near` everywhere.
    backend: "compiled" is the fast CPU path, "warp" runs on CPU and CUDA devices, "auto" takes the faster one
    of the device. Both give the same pixels.
    threads: how many threads share the images of one call (compiled backend).
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        links: Sequence[str],
        height: int = 36,
        width: int = 36,
        near: float = 0.1,
        far: float = 3.0,
        device: torch.device | str = "cpu",
        backend: Backend = "auto",
        threads: int = 1,
    ) -> None:
        if backend not in BACKENDS:
            raise unknown("depth renderer", backend, BACKENDS)
        if not 0.0 < near < far:
            raise UserError(f"Depth range {near} to {far} m: near must be positive and below far.")
        if threads < 1:
            raise UserError(f"Depth renderer with {threads} threads: at least 1 is needed.")
        self.device = torch.device(device)
        if backend == "auto":
            backend = "compiled" if self.device.type == "cpu" else "warp"
        if backend == "compiled" and self.device.type != "cpu":
            raise UserError(f"Depth renderer 'compiled' runs on the CPU only; use 'warp' on {self.device}.")
        self.height, self.width, self.near, self.far = height, width, near, far
        self.links = tuple(links)
        self.backend = backend
        solids = pack(shapes, self.links)
        self._engine: _Engine
        if backend == "compiled":
            self._engine = _Compiled(solids, height, width, near, far, threads)
        else:
            self._engine = _Warp(solids, near, far, self.device)

    def render(
        self,
        camera_position: Tensor,
        camera_quaternion: Tensor,
        tan_half_fov: Tensor,
        boxes: Tensor,
        count: Tensor,
        link_position: Tensor,
        link_quaternion: Tensor,
        env_ids: Tensor,
        out: Tensor | None = None,
    ) -> Tensor:
        """z-depth (m, height, width) float32 in metres; row 0 on top, column 0 on the left.

        One image per entry of env_ids (m,) int64, which names its world among the n of boxes (n, pool, 8),
        count (n,) int32, link_position (n, L, 3) and link_quaternion (n, L, 4). Cameras: camera_position
        (m, 3), camera_quaternion (m, 4) with MuJoCo's camera axes (looks along -z, x right, y up),
        tan_half_fov (m, 2) tangents of half the horizontal and vertical field of view. Poses may be float32
        or float64, quaternions are w, x, y, z. `out`: where to write, if the caller has the place; the Warp
        backend leaves images there as they are whose world is -1.
        """
        shape = (len(env_ids), self.height, self.width)
        if link_position.shape[1] != len(self.links):
            raise ValueError(f"poses of {link_position.shape[1]} links, expected {len(self.links)}")
        if out is None:
            out = torch.empty(shape, dtype=torch.float32, device=self.device)
        elif out.shape != shape or out.dtype != torch.float32 or not out.is_contiguous():
            raise ValueError(f"out must be a contiguous float32 tensor of shape {shape}")
        if len(env_ids):
            self._engine.draw(
                out, camera_position, camera_quaternion, tan_half_fov, boxes, count,
                link_position, link_quaternion, env_ids,
            )  # fmt: skip
        return out


class _Engine(Protocol):
    def draw(
        self,
        out: Tensor,
        camera_position: Tensor,
        camera_quaternion: Tensor,
        tan_half_fov: Tensor,
        boxes: Tensor,
        count: Tensor,
        link_position: Tensor,
        link_quaternion: Tensor,
        env_ids: Tensor,
    ) -> None: ...


class _Compiled:
    """Vector code on CPU cores, images split evenly over threads."""

    def __init__(
        self, solids: LinkSolids, height: int, width: int, near: float, far: float, threads: int
    ) -> None:
        from ssr.vision import inverse_depth

        self._kernels: Any = inverse_depth
        column = (2.0 * (np.arange(width) + 0.5) / width - 1.0).astype(np.float32)
        row = (1.0 - 2.0 * (np.arange(height) + 0.5) / height).astype(np.float32)
        self._solids = tuple(solids)
        self._lens = tuple(
            inverse_depth.Lens(xs=np.tile(column, height), ys=np.repeat(row, width), near=near, far=far)
        )
        self._threads = threads
        self._helpers = ThreadPoolExecutor(threads, "depth") if threads > 1 else None

    def draw(
        self, out, camera_position, camera_quaternion, tan_half_fov, boxes, count,
        link_position, link_quaternion, env_ids,
    ) -> None:  # fmt: skip
        scene = self._kernels.Shots(
            camera_position=_array(camera_position),
            camera_quaternion=_array(camera_quaternion),
            tan_half_fov=_array(tan_half_fov),
            env_ids=_array(env_ids, torch.int64),
            boxes=_array(boxes, torch.float32),
            box_count=_array(count, torch.int32),
            link_position=_array(link_position[env_ids]),
            link_quaternion=_array(link_quaternion[env_ids]),
        )
        images, render = out.numpy(), self._kernels.render_images
        if self._helpers is None:
            render(images, 0, len(images), tuple(scene), self._solids, self._lens)
            return
        shares = np.linspace(0, len(images), self._threads + 1).astype(int).tolist()
        jobs = [
            self._helpers.submit(render, images, first, last, tuple(scene), self._solids, self._lens)
            for first, last in pairwise(shares)
        ]
        for job in jobs:
            job.result()


def _array(x: Tensor, dtype: torch.dtype = torch.float64) -> np.ndarray:
    return x.detach().to(dtype).contiguous().numpy()


class _Warp:
    """A Warp kernel over the device's own tensors: nothing is copied to or from the host."""

    def __init__(self, solids: LinkSolids, near: float, far: float, device: torch.device) -> None:
        import warp as wp

        from ssr import bridge
        from ssr.vision import ray_casting

        self._wp: Any = wp
        self._bridge = bridge
        self._at = device
        self._kernels: Any = ray_casting
        self._device = bridge.device_of(device)
        self._range = (near, far)
        self._solids = len(solids.kind)
        types = (wp.int32, wp.int32, wp.vec3, wp.mat33, wp.vec3, wp.vec3)
        self._shapes: Any = ray_casting.Solids()
        for (name, field), kind in zip(solids._asdict().items(), types, strict=True):
            setattr(self._shapes, name, wp.array(field, dtype=kind, device=self._device))
        self._reserve(0, 0)

    def _reserve(self, images: int, solids: int) -> None:
        """Room for what `place` hands to `cast`; it only ever grows to the largest call so far."""
        make = lambda kind: self._wp.empty((images, solids), dtype=kind, device=self._device)
        self._frames, self._bounds = make(self._kernels.Frame), make(self._wp.vec4)

    def draw(
        self, out, camera_position, camera_quaternion, tan_half_fov, boxes, count,
        link_position, link_quaternion, env_ids,
    ) -> None:  # fmt: skip
        wp, array = self._wp, self._bridge.array
        images, pool = len(env_ids), boxes.shape[1]
        solids = pool + self._solids
        if self._frames.shape[0] < images or self._frames.shape[1] != solids:
            self._reserve(images, solids)
        frames, bounds = self._frames[:images], self._bounds[:images]
        view = lambda x, kind, dtype=torch.float32: array(x.detach().to(dtype).contiguous(), kind)
        worlds = view(env_ids, wp.int64, torch.int64)
        self._bridge.launch(
            self._kernels.place,
            (images, solids),
            [
                view(camera_position, wp.vec3), view(camera_quaternion, wp.vec4), worlds,
                view(boxes, wp.float32), view(link_position, wp.vec3), view(link_quaternion, wp.vec4),
                self._shapes,
            ],
            [frames, bounds],
            self._at,
        )  # fmt: skip
        self._bridge.launch(
            self._kernels.cast,
            tuple(out.shape),
            [
                frames, bounds, view(tan_half_fov, wp.vec2), worlds, view(count, wp.int32, torch.int32),
                pool, *self._range,
            ],
            [array(out, wp.float32)],
            self._at,
        )  # fmt: skip

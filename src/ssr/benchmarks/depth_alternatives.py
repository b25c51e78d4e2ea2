"""Ways to make depth images that were tried and not taken, timed on the same scenes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import torch

from ssr.benchmarks.depth_scene import Scenes, pixel_rays
from ssr.robots.spec import Shape
from ssr.rotation import matrix
from ssr.vision.camera import CameraConfig

FACETS = 24  #: around the axis of a round shape


def other_ways(scenes: Scenes, threads: int) -> dict[str, Callable[[], int]]:
    """By name; each draws all scenes once and returns how many images that were."""
    ways = {"split_warp": _split_warp(scenes, threads)}
    if find_spec("embreex") is not None:
        ways["embree"] = _embree(scenes)
    return ways


def _split_warp(scenes: Scenes, threads: int) -> Callable[[], int]:
    """One Warp launch per thread, each for its share of the images."""
    shares = np.array_split(np.arange(len(scenes.tiles)), threads)
    renderers = [scenes.renderer(backend="warp") for _ in shares]
    pool = ThreadPoolExecutor(threads)

    def draw_share(renderer, share) -> None:
        renderer.render(
            scenes.camera_position[share],
            scenes.camera_quaternion[share],
            scenes.tan_half_fov[share],
            scenes.terrain.boxes,
            scenes.terrain.count,
            scenes.link_position,
            scenes.link_quaternion,
            torch.as_tensor(share),
        )

    def draw() -> int:
        list(pool.map(draw_share, renderers, shares))
        return len(scenes.tiles)

    return draw


def _embree(scenes: Scenes) -> Callable[[], int]:
    """Embree over triangles: terrain and every shape in a tree of its own, built once; the rays are moved."""
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    def tree(vertices: np.ndarray, faces: np.ndarray) -> EmbreeScene:
        built = EmbreeScene()
        TriangleMesh(built, vertices[faces].astype(np.float32))
        return built

    tiles = {id(tile): tree(*tile.triangles()) for tile in scenes.tiles}
    shapes = [(scenes.links.index(s.link), tree(*triangles(s))) for s in scenes.robot.shapes]
    rays = pixel_rays(CameraConfig())
    length = np.linalg.norm(rays, axis=1)
    unit = rays / length[:, None]

    def distance(built: EmbreeScene, origin: np.ndarray, directions: np.ndarray) -> np.ndarray:
        origins = np.broadcast_to(origin.astype(np.float32), directions.shape)
        found = built.run(np.ascontiguousarray(origins), directions.astype(np.float32), query="DISTANCE")
        return np.where(found < 0, np.inf, found)

    def draw() -> int:
        for i, tile in enumerate(scenes.tiles):
            eye = scenes.camera_position[i].numpy()
            world = unit @ matrix(scenes.camera_quaternion[i].numpy()).T
            nearest = distance(tiles[id(tile)], eye, world)
            for link, built in shapes:
                turn = matrix(scenes.link_quaternion[i, link].numpy())
                local = (eye - scenes.link_position[i, link].numpy()) @ turn
                nearest = np.minimum(nearest, distance(built, local, world @ turn))
            np.clip(nearest / length, 0.1, 3.0)
        return len(scenes.tiles)

    return draw


def triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (v, 3) in the link's frame and faces (f, 3) of a shape, round ones with flat facets."""
    if shape.kind == "box":
        outline = [
            (np.sqrt(2.0) * shape.size[0], -shape.size[2]),
            (np.sqrt(2.0) * shape.size[0], shape.size[2]),
        ]
        vertices, faces = _turned([(0.0, -shape.size[2]), *outline, (0.0, shape.size[2])], sides=4)
        vertices[:, 1] *= shape.size[1] / shape.size[0]
    else:
        half = 0.0 if shape.kind == "sphere" else shape.size[1]
        vertices, faces = _turned(_profile(replace(shape, size=(shape.size[0], half))), sides=FACETS)
    return vertices @ matrix(np.array(shape.quaternion)).T + shape.position, faces


def _profile(shape: Shape) -> list[tuple[float, float]]:
    """Radius and height from the lower to the upper pole of a round shape (radius, half length)."""
    radius, half = shape.size
    if shape.kind == "cylinder":
        return [(0.0, -half), (radius, -half), (radius, half), (0.0, half)]
    angles = np.linspace(-np.pi / 2, np.pi / 2, FACETS // 2 + 1)
    caps = [(radius * np.cos(a), radius * np.sin(a)) for a in angles]
    middle = len(caps) // 2
    lower = [(r, z - half) for r, z in caps[: middle + 1]]
    return lower + [(r, z + half) for r, z in caps[middle:]]


def _turned(profile: list[tuple[float, float]], sides: int) -> tuple[np.ndarray, np.ndarray]:
    """The solid a profile sweeps about z, with one corner at 45° so that four sides make a box."""
    angle = np.pi / 4 + 2.0 * np.pi * np.arange(sides) / sides
    rings = [np.stack([r * np.cos(angle), r * np.sin(angle), np.full(sides, z)], axis=1) for r, z in profile]
    index = np.arange(len(rings) * sides).reshape(len(rings), sides)
    after = np.roll(index, -1, axis=1)
    a, b, c, d = index[:-1].ravel(), after[:-1].ravel(), after[1:].ravel(), index[1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.concatenate(rings), faces

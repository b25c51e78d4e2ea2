"""Triangles for a browser: the robot's primitives, terrain boxes, discs and footprints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import trimesh

from ssr import rotation
from ssr.robots.spec import Shape
from ssr.terrain.tile import BOX_FACES, Box

ROUND = 24  #: corners of what is round


@dataclass(frozen=True, kw_only=True)
class Mesh:
    vertices: np.ndarray  #: (v, 3) float32, m
    faces: np.ndarray  #: (f, 3) uint32, outward by the right-hand rule


def joined(meshes: Iterable[Mesh]) -> Mesh:
    """One mesh of several."""
    vertices: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    count = 0
    for mesh in meshes:
        vertices.append(mesh.vertices)
        faces.append(mesh.faces + np.uint32(count))
        count += len(mesh.vertices)
    return Mesh(vertices=np.concatenate(vertices), faces=np.concatenate(faces))


def of_shape(shape: Shape) -> Mesh:
    """A robot's primitive in its link's frame."""
    size = shape.size
    if shape.kind == "sphere":
        solid = trimesh.creation.icosphere(subdivisions=2, radius=size[0])
    elif shape.kind == "capsule":
        solid = trimesh.creation.capsule(radius=size[0], height=2 * size[1], count=(ROUND, ROUND // 2))
    elif shape.kind == "cylinder":
        solid = trimesh.creation.cylinder(radius=size[0], height=2 * size[1], sections=ROUND)
    else:
        solid = trimesh.creation.box(extents=2 * np.array(size))
    placed = solid.vertices @ rotation.matrix(np.array(shape.quaternion)).T + shape.position
    return Mesh(vertices=placed.astype(np.float32), faces=solid.faces.astype(np.uint32))


def of_box(box: Box) -> Mesh:
    return Mesh(vertices=box.corners().astype(np.float32), faces=BOX_FACES.astype(np.uint32))


def disc() -> Mesh:
    """A flat disc of radius 1 m, facing up."""
    angle = np.linspace(0.0, 2 * np.pi, ROUND, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle), np.zeros(ROUND)], axis=-1)
    k = np.arange(ROUND)
    faces = np.stack([np.full(ROUND, ROUND), k, (k + 1) % ROUND], axis=-1)
    return Mesh(vertices=np.vstack([rim, np.zeros(3)]).astype(np.float32), faces=faces.astype(np.uint32))


def rectangle(length: float, width: float) -> Mesh:
    """A flat rectangle about the origin, facing up."""
    signs = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    vertices = signs * np.array([length / 2, width / 2, 0.0])
    return Mesh(vertices=vertices.astype(np.float32), faces=np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32))

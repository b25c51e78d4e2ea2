"""Triangles and lines for the browser."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from ssr.robots import load as load_robot
from ssr.robots.spec import Shape
from ssr.terrain.lines import edges, in_pieces, ruling
from ssr.terrain.making import make_tile
from ssr.viewer import meshes

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
FORWARD = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # z turned onto x


@pytest.mark.parametrize(
    ("kind", "size", "extent"),
    [
        ("sphere", (0.2,), (0.4, 0.4, 0.4)),
        ("capsule", (0.1, 0.3), (0.2, 0.2, 0.8)),
        ("cylinder", (0.1, 0.3), (0.2, 0.2, 0.6)),
        ("box", (0.1, 0.2, 0.3), (0.2, 0.4, 0.6)),
    ],
)
def test_primitives_have_mujocos_sizes(kind: str, size: tuple[float, ...], extent: tuple[float, ...]) -> None:
    for quaternion, order in ((UPRIGHT, (0, 1, 2)), (FORWARD, (2, 1, 0))):
        shape = Shape(link="l", kind=kind, position=(1.0, 2.0, 3.0), quaternion=quaternion, size=size)
        vertices = meshes.of_shape(shape).vertices
        np.testing.assert_allclose(np.ptp(vertices, axis=0), np.array(extent)[list(order)], atol=0.005)
        middle = (vertices.max(axis=0) + vertices.min(axis=0)) / 2
        np.testing.assert_allclose(middle, (1.0, 2.0, 3.0), atol=0.005)


def test_solids_are_closed_and_face_outwards() -> None:
    tile = make_tile("slope", setting=(12.0,))
    for mesh in (*map(meshes.of_shape, load_robot("x2").shapes), *map(meshes.of_box, tile.boxes)):
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
        assert solid.is_watertight
        assert solid.volume > 0


def test_joining_keeps_every_triangle() -> None:
    boxes = [meshes.of_box(box) for box in make_tile("stairs_up", level=4).boxes]
    joined = meshes.joined(boxes)
    volume = sum(trimesh.Trimesh(box.vertices, box.faces).volume for box in boxes)
    assert trimesh.Trimesh(joined.vertices, joined.faces, process=False).volume == pytest.approx(volume)


def test_every_tread_is_outlined() -> None:
    tile = make_tile("stairs_down", level=9)
    ends = {tuple(point) for point in edges(tile).reshape(-1, 3).round(4).tolist()}
    tops = [
        corner for box in tile.boxes for corner in box.corners()[1::2].astype(np.float32).round(4).tolist()
    ]
    assert {tuple(corner) for corner in tops} == ends


@pytest.mark.parametrize("kind", ["flat", "slope"])
def test_ruled_lines_lie_on_the_ground_a_metre_apart(kind: str) -> None:
    tile = make_tile(kind, level=9)
    lines = ruling(tile)
    across = lines[(lines[:, 0, 0] == lines[:, 1, 0]) & (lines[:, 0, 0] > 0.5) & (lines[:, 0, 0] < 7.5)]
    assert sorted(set(across[:, 0, 0].tolist())) == [1, 2, 3, 4, 5, 6, 7]
    middle = across.mean(axis=1)
    np.testing.assert_allclose(tile.heights(middle[:, :2]), middle[:, 2], atol=1e-4)


def test_a_line_cut_into_pieces_is_the_same_line() -> None:
    lines = np.array([[(0, 0, 0), (7, 0, 3.5)], [(1, 1, 1), (1, 2, 1)]], dtype=np.float32)
    pieces = in_pieces(lines, 2.0)
    lengths = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=-1)
    assert lengths.max() <= 2.0 and len(pieces) == 5
    assert lengths.sum() == pytest.approx(np.sqrt(7**2 + 3.5**2) + 1)
    np.testing.assert_array_equal(pieces[[0, 3, 4], [0, 1, 1]], lines[[0, 0, 1], [0, 1, 1]])
    np.testing.assert_array_equal(pieces[:3, 1], pieces[1:4, 0])
    assert in_pieces(lines[:0], 2.0).shape == (0, 2, 3)


def test_flat_marks_face_up() -> None:
    disc, sole = meshes.disc(), meshes.rectangle(0.2, 0.1)
    for mesh, area in ((disc, np.pi), (sole, 0.02)):
        surface = trimesh.Trimesh(mesh.vertices, mesh.faces)
        assert (surface.face_normals[:, 2] > 0.99).all()
        assert surface.area == pytest.approx(area, rel=0.02)

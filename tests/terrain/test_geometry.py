"""Boxes, triangles and height queries are the same terrain, whichever way it is asked."""

from __future__ import annotations

from math import atan, cos, pi

import mujoco
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import trained_kinds
from ssr.terrain.settings import LEVELS
from ssr.terrain.strip import STRIP_POOL, make_strip
from ssr.terrain.tile import ABYSS, Box, Tile

SKY = 50.0
STRIPS = {
    "flat": (),
    "slope": (-17.0,),
    "stairs_up": (0.15, 0.30),
    "stairs_down": (0.15, 0.40),
    "discrete": (0.13,),
    "gap": (0.9,),
    "platform": (0.45,),
    "rough": (0.04,),
}


def tiles_of(kind: str) -> list[Tile]:
    """The tile of every level, both directions of a slope among them, and one strip."""
    rng = np.random.default_rng(7)
    tiles = [make_tile(kind, level=level, rng=rng) for level in range(LEVELS)]
    return [*tiles, make_strip(kind, STRIPS[kind], rng=rng)]


def points_on(tile: Tile, rng: np.random.Generator, count: int = 150) -> np.ndarray:
    """Anywhere on the solid ground, half of the points within 2 cm of a box's edge."""
    anywhere = np.stack([rng.uniform(-3, tile.length + 9.5, count), rng.uniform(-5.5, 5.5, count)], axis=-1)
    near = anywhere[: count // 2]
    for point in near:
        box = tile.boxes[rng.integers(len(tile.boxes))]
        axis = rng.integers(2)
        extent = box.half[axis] * (cos(box.pitch) if axis == 0 else 1)
        edge = box.center[axis] + rng.choice([-1, 1]) * extent
        point[axis] = edge + rng.uniform(-0.02, 0.02)
    inside = (anywhere[:, 0] > -3) & (anywhere[:, 0] < tile.length + 9.5) & (abs(anywhere[:, 1]) < 5.5)
    return anywhere[inside]


def triangle_heights(tile: Tile, points: np.ndarray) -> np.ndarray:
    """Rays straight down against every triangle, by barycentric coordinates in the plane."""
    vertices, faces = tile.triangles()
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    upward = area > 1e-12  # only these can be hit from above
    a, b, c, area = a[upward], b[upward], c[upward], area[upward]
    p = points[:, None] - a[None, :, :2]
    v = (p[..., 0] * (c - a)[:, 1] - p[..., 1] * (c - a)[:, 0]) / area
    w = (p[..., 1] * (b - a)[:, 0] - p[..., 0] * (b - a)[:, 1]) / area
    hit = (v >= -1e-9) & (w >= -1e-9) & (v + w <= 1 + 1e-9)
    z = a[:, 2] + v * (b - a)[:, 2] + w * (c - a)[:, 2]
    return np.where(hit, z, ABYSS).max(axis=1)


def mujoco_heights(tile: Tile, points: np.ndarray) -> np.ndarray:
    """Rays straight down in a MuJoCo model of the tile's rows."""
    spec = mujoco.MjSpec()
    for x, y, z, hx, hy, hz, pitch, yaw in tile.rows(STRIP_POOL):
        quaternion = np.zeros(4)
        mujoco.mju_euler2Quat(quaternion, [yaw, pitch, 0.0], "zyx")  # each about the axes turned so far
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=[x, y, z], size=[hx, hy, hz], quat=quaternion
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    down, geom = np.array([0.0, 0.0, -1.0]), np.zeros(1, dtype=np.int32)
    distances = [
        mujoco.mj_ray(model, data, np.array([x, y, SKY]), down, None, 1, -1, geom, None) for x, y in points
    ]
    return SKY - np.array(distances)


@pytest.mark.parametrize("kind", trained_kinds())
def test_rays_down_meet_the_queried_height_on_every_level(kind: str) -> None:
    rng = np.random.default_rng(1)
    tiles = tiles_of(kind)
    points = [points_on(tile, rng) for tile in tiles]
    field = TerrainField(len(tiles), STRIP_POOL)
    field.place(range(len(tiles)), tiles)
    shortest = min(map(len, points))
    batch = field.heights(torch.tensor(np.stack([p[:shortest] for p in points])))
    for tile, where, queried in zip(tiles, points, batch.numpy(), strict=True):
        heights = tile.heights(where)
        assert np.abs(triangle_heights(tile, where) - heights).max() < 1e-9
        assert np.abs(mujoco_heights(tile, where) - heights).max() < 1e-9
        # A float32 coordinate may fall on the other side of an edge, so the same rounded points are asked,
        # but for those that lie on the edge as far as float32 can tell.
        rounded = where[:shortest].astype(np.float32).astype(np.float64)
        around = [
            tile.heights(rounded + step) for step in 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        ]
        clear = np.ptp(around, axis=0) < 1e-5
        assert clear.mean() > 0.97
        assert np.abs(tile.heights(rounded) - queried)[clear].max() < 5e-6


@pytest.mark.parametrize("kind", trained_kinds())
def test_no_crack_between_neighbouring_boxes(kind: str) -> None:
    """On an edge, and a float64 step to either side of it, there is ground at the height of one neighbour."""
    for tile in tiles_of(kind):
        edges = np.unique(tile.facets[:, :2])
        edges = edges[(edges > -3) & (edges < tile.length + 9.5)]
        for x in (np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)):
            middle = np.stack([x, np.full_like(x, 0.1)], axis=-1)
            step = np.array([1e-6, 0.0])
            before = tile.heights(middle - step)
            behind = tile.heights(middle + step)
            here = tile.heights(middle)
            assert (here >= np.minimum(before, behind) - 1e-6).all()
            assert (here <= np.maximum(before, behind) + 1e-6).all()


@pytest.mark.parametrize(
    ("kind", "low_side"), [("stairs_up", -1), ("stairs_down", 1), ("gap", 1), ("platform", -1)]
)
def test_a_height_changes_within_a_micrometre_of_the_edge(kind: str, low_side: int) -> None:
    tile = make_tile(kind, level=19)
    step = {"stairs_up": 0.2, "stairs_down": 0.2, "gap": 0.6, "platform": 0.4}[kind]
    x = tile.first_edge
    on, low, high = tile.heights(np.array([[x, 0.0], [x + 1e-6 * low_side, 0.0], [x - 1e-6 * low_side, 0.0]]))
    assert on == high
    assert high - low == pytest.approx(step, abs=1e-12)


def test_float32_queries_are_exact_at_edges() -> None:
    """The next float32 before a riser is on the lower tread, the riser itself on the upper one."""
    tile = make_tile("stairs_up", setting=(0.17, 0.28))
    field = TerrainField(1, TILE_POOL)
    field.place([0], [tile])
    risers = np.array([b.center[0] - b.half[0] for b in tile.boxes[1:]]).astype(np.float32)
    count = np.arange(1, len(risers) + 1)
    for x, steps in ((np.nextafter(risers, np.float32(-9)), count - 1), (risers, count)):
        points = torch.tensor(np.stack([x, np.zeros_like(x)], axis=-1))[None]
        np.testing.assert_allclose(field.heights(points)[0].numpy(), 0.17 * steps, atol=1e-6)


@pytest.mark.parametrize("kind", trained_kinds())
def test_a_mirrored_tile_is_the_tile_seen_in_the_mirror(kind: str) -> None:
    rng = np.random.default_rng(3)
    for tile in tiles_of(kind):
        points = points_on(tile, rng)
        mirrored = tile.mirrored()
        np.testing.assert_array_equal(mirrored.heights(points * [1, -1]), tile.heights(points))
        assert mirrored.mirrored() == tile


@pytest.mark.parametrize("kind", trained_kinds())
def test_triangles_face_outward_and_close_every_box(kind: str) -> None:
    tile = make_tile(kind, level=13)
    vertices, faces = tile.triangles()
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    volumes = (np.cross(a, b) * c).sum(axis=1).reshape(len(tile.boxes), 12).sum(axis=1) / 6
    np.testing.assert_allclose(volumes, [8 * np.prod(box.half) for box in tile.boxes], rtol=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    pitch=st.floats(-1.4, 1.4).filter(lambda p: p == 0 or abs(p) > 1e-3),
    half=st.tuples(*[st.floats(0.05, 3.0)] * 3),
    x=st.floats(-4, 4),
    y=st.floats(-4, 4),
)
def test_any_pitched_box_reports_the_height_a_ray_meets(
    pitch: float, half: tuple[float, float, float], x: float, y: float
) -> None:
    tile = Tile(
        kind="slope",
        setting=(0.0,),
        boxes=(Box((0.3, -0.2, 0.5), half, pitch),),
        length=1,
        half_width=1,
        start=0,
        first_edge=0,
        last_edge=1,
        end_height=0,
    )
    points = np.array([[x, y]])
    vertices, _ = tile.triangles()
    # The outline itself is decided to the nanometre, so points on it are left out.
    if np.abs(vertices[:, :2] - points).min() > 1e-6:
        assert tile.heights(points)[0] == pytest.approx(triangle_heights(tile, points)[0], abs=1e-6)


def test_slopes_run_exactly_from_end_to_end() -> None:
    for degrees in (20.0, -20.0, 7.3):
        tile = make_tile("slope", setting=(degrees,))
        rise = 8 * np.tan(degrees * pi / 180)
        ends = tile.heights(np.array([[0.0, 0], [8.0, 0], [4.0, 1], [12.0, 0], [-1.0, 0]]))
        np.testing.assert_allclose(ends, [0, rise, rise / 2, rise, 0], atol=1e-12)
        assert tile.end_height == pytest.approx(rise)
        incline = next(b for b in tile.boxes if b.pitch)
        assert incline.pitch == pytest.approx(-atan(rise / 8))

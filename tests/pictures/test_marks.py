"""What is drawn into a picture, and how light falls."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ssr.pictures.offscreen import SUN, Disc, Lines, Offscreen, dress, onlooker, working_backend
from ssr.terrain.draw import drawn_lines, seen_from
from ssr.terrain.making import make_tile

pytestmark = pytest.mark.skipif(working_backend() is None, reason="no offscreen OpenGL on this machine")
ABOVE = onlooker((0.0, 0.0, 0.0), 3.0, 90.0, -90.0)


@pytest.fixture(scope="module", params=[True, False], ids=["fine", "quick"])
def screen(request: pytest.FixtureRequest):
    spec = mujoco.MjSpec()
    dress(spec, width=120, height=120, fine=request.param)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[4, 4, 0.1], pos=[0, 0, -0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with Offscreen(model, width=120, height=120) as made:
        yield lambda *marks: made.frame(data, ABOVE, marks).astype(int)


def test_a_disc_is_flat_and_as_wide_as_told(screen) -> None:
    changed = np.abs(screen(Disc(position=(0, 0, 0.01), radius=0.5, colour=(1, 0, 0, 1))) - screen()).sum(-1)
    shape = changed > 60
    metre = 120 / (2 * 3.0 * np.tan(np.radians(45 / 2)))  # pixels, of MuJoCo's 45° camera
    assert shape.sum() == pytest.approx(np.pi * (0.5 * metre) ** 2, rel=0.1)


def test_lines_have_their_colour_with_and_without_shadows(screen) -> None:
    """Whether the light is drawn once or twice."""
    across = np.array([[[-3.0, 0.0, 0.01], [3.0, 0.0, 0.01]]])
    drawn = screen(Lines(ends=across, colour=(0.2, 0.4, 0.6, 1.0), width=6.0))
    np.testing.assert_allclose(drawn[60, 20], (51, 102, 153), atol=4)


def test_lines_that_stay_are_drawn_like_new_ones_and_others_replace_them(screen) -> None:
    def line(y: float) -> Lines:
        ends = np.array([[[-3.0, y, 0.01], [3.0, y, 0.01]]])
        return Lines(ends=ends, colour=(0.1, 0.1, 0.1, 1.0), width=6.0)

    here, disc = line(0.0), Disc(position=(0, 0.6, 0.01), radius=0.2, colour=(1, 0, 0, 1))
    fresh = screen(here, disc)
    assert np.array_equal(screen(here, disc), fresh)
    assert not np.array_equal(screen(line(0.3), disc), fresh)
    assert np.array_equal(screen(here, disc), fresh)
    assert not np.array_equal(screen(disc), fresh)


def test_the_floor_of_a_gap_is_seen() -> None:
    """By the onlooker of films, 16° above the ground: its far edge is not behind the near rim."""
    tile = make_tile("gap", level=12)
    width, depth = tile.setting
    across = width / np.cos(np.radians(seen_from(tile)))
    assert across * np.tan(np.radians(16.0)) > depth


@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down", "platform"])
def test_the_onlooker_stands_where_risers_face_and_light_falls_from_the_side(kind: str) -> None:
    tile = make_tile(kind, level=12)
    look = np.array([np.cos(np.radians(seen_from(tile))), np.sin(np.radians(seen_from(tile))), 0.0])
    riser = np.array([1.0 if tile.end_height < 0 else -1.0, 0.0, 0.0])
    assert look @ riser < -0.5  # seen from the front
    tread, face = (max(0.0, -np.array(SUN) @ normal) for normal in (np.array([0.0, 0.0, 1.0]), riser))
    assert tread - face > 0.3


def test_edges_and_metres_are_drawn() -> None:
    ruled, edged = drawn_lines(make_tile("flat"))
    assert len(ruled.ends) > 10 and len(edged.ends) == 4
    treads, _ = drawn_lines(make_tile("stairs_up", level=12))
    assert np.linalg.norm(treads.ends[:, 1] - treads.ends[:, 0], axis=-1).min() > 0.9

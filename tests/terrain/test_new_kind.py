"""A kind of terrain is one object: whoever registers one can build, see, walk, evaluate and ask for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ssr.cli.main import main
from ssr.errors import UserError
from ssr.evaluation.courses import Course, choose, course_sets
from ssr.evaluation.eyes.phantom import shares_of, tread_of
from ssr.evaluation.worlds import strips_for
from ssr.task.commands import table_4
from ssr.task.config import CommandConfig, TerrainConfig
from ssr.terrain import registry
from ssr.terrain.field import TerrainField
from ssr.terrain.ground import ENTRY, Edges, Obstacles, Plot, columns, evenly
from ssr.terrain.kind import Parameter, Phantom, Setting, TerrainKind
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import kind_named, kinds_help, register, settings_help
from ssr.terrain.settings import TERRAIN_TYPES
from ssr.terrain.strip import STRIP_POOL, make_strip
from ssr.terrain.tile import Box
from ssr.vision.renderer import DepthRenderer

HEIGHT = Parameter(name="post height", unit=" m", easiest=0.1, hardest=0.3, lowest=0.05, highest=1.0)
SIDE = 0.4


def posts(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    """A square post in the middle of the way between each pair of edges."""
    made = [Box.spanning(edge, (-SIDE / 2, SIDE / 2), (-1.0, setting[0])) for edge in edges]
    return Obstacles(
        boxes=[*columns([(ENTRY, 0.0)], plot), *made], first_edge=edges[0][0], last_edge=edges[-1][1]
    )


POSTS = TerrainKind(
    name="posts",
    label="posts",
    order=100,
    terrain_type="platform",
    commands="gap",
    written="HEIGHT",
    parameters=(HEIGHT,),
    tile=lambda setting, rng: evenly(1.0, SIDE, 3.0),
    strip=lambda setting, length: evenly(1.0, SIDE, length),
    build=posts,
    trained=False,
    has_pits=True,
    axis="height (cm)",
    courses={"unseen": ((0.2,), (0.5,))},
)


@pytest.fixture(autouse=True)
def with_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.all_kinds()
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    register(POSTS)


def test_its_tile_and_its_strip_have_its_heights() -> None:
    tile, strip = make_tile("posts", level=19), make_strip("posts", (0.5,))
    assert tile.setting == pytest.approx((0.3,))
    places = np.array([[1.7, 0.0], [2.2, 0.0], [2.7, 0.1], [1.7, 0.3]])
    np.testing.assert_allclose(tile.heights(places), [0.3, 0.0, 0.3, 0.0])
    field = TerrainField(2, STRIP_POOL)
    field.place([0, 1], [tile, strip])
    under = field.heights(torch.tensor(places).expand(2, -1, -1))
    np.testing.assert_allclose(under, [[0.3, 0.0, 0.3, 0.0], [0.5, 0.0, 0.5, 0.0]], rtol=1e-6)
    assert field.type.tolist() == [TERRAIN_TYPES.index("platform")] * 2
    assert field.has_pits.tolist() == [1, 1]
    assert strip.length > 22.0


def test_a_camera_above_it_sees_it() -> None:
    field = TerrainField(1, TILE_POOL)
    field.place([0], [make_tile("posts", setting=(0.5,))])
    renderer = DepthRenderer((), ["link"], height=1, width=1)
    upright = torch.tensor([1.0, 0.0, 0.0, 0.0])
    for x, depth in ((1.7, 1.5), (2.2, 2.0)):
        seen = renderer.render(
            torch.tensor([[x, 0.0, 2.0]]), upright[None], torch.tensor([[0.1, 0.1]]),
            field.boxes, field.count, torch.zeros(1, 1, 3), upright.view(1, 1, 4), torch.tensor([0]),
        )  # fmt: skip
        assert seen.item() == pytest.approx(depth)


def test_it_is_a_course_of_its_own_set() -> None:
    assert course_sets()["unseen"] == (Course.of("posts", 0.2), Course.of("posts", 0.5))
    easy, hard = choose(("unseen",), "all", None)
    assert (easy.title, hard.title) == ("posts 20 cm", "posts 50 cm ★")
    assert easy.text == "0.2"
    assert easy.order > Course.of("platform", 0.9).order
    (strip,) = strips_for(easy, [3])
    assert strip.kind == "posts" and strip.length - strip.start >= 29.0


def test_it_is_shown_further_on_as_it_says_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course.of("posts", 0.2)
    assert shares_of(course) == (0.0,), "it said nothing"
    other = replace(POSTS, phantom=lambda setting: Phantom(tread=1.0, repeats=True))
    monkeypatch.setitem(registry._KINDS, "posts", other)
    assert tread_of(course) == 1.0 and shares_of(course) == (0.0, 0.25, 0.5, 0.75)


def test_help_lists_and_errors_know_it(capsys: pytest.CaptureFixture) -> None:
    assert kinds_help().endswith("or posts.")
    assert "platform, rough, posts: HEIGHT" in settings_help()
    assert main(["terrain", "posts", "--setting", "0.4", "--strip"]) == 0
    assert "post height 0.4 m" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["terrain", "--help"])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "or posts." in shown
    with pytest.raises(UserError, match="posts"):
        kind_named("post")


def test_what_is_for_evaluation_only_is_not_trained_on() -> None:
    with pytest.raises(UserError, match="evaluation only") as caught:
        TerrainConfig(kinds=("slope", "posts"))
    assert "\n" not in str(caught.value)


def test_its_commands_are_those_of_its_type() -> None:
    speed, _ = table_4(CommandConfig())
    assert tuple(speed[TERRAIN_TYPES.index("platform")]) == pytest.approx(CommandConfig().obstacle_speed)


@pytest.mark.parametrize("change", [{"name": "gap"}, {"order": 5}, {"commands": "slope"}])
def test_a_kind_that_contradicts_another_is_refused(change: dict) -> None:
    fields = {**vars(POSTS), "name": "more posts", "order": 101, **change}
    with pytest.raises(ValueError, match=r"gap|posts"):
        register(TerrainKind(**fields))

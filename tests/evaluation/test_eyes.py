"""Eyes: feet that step by what is shown follow a phantom, feet that count time do not; reports say so."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from handmade import handmade
from rich.console import Console

from ssr.cli.main import main
from ssr.errors import UserError
from ssr.evaluation import report, results, subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.eyes import record
from ssr.evaluation.eyes.examine import Examination, examine, phantom_row
from ssr.evaluation.eyes.looks import WatchedWalk
from ssr.evaluation.eyes.phantom import edges_of, phantom, shares_of, tread_of
from ssr.evaluation.eyes.sight import blurred
from ssr.evaluation.trials import FELL, LASTED
from ssr.evaluation.worlds import strips_for, worlds_for
from ssr.files import without_seal
from ssr.learning.edge_sight import correlation, moments
from ssr.symmetry.vectors import BASE_MAP
from ssr.terrain.tile import Tile
from ssr.vision.heightmap import BASE_X

UP, DOWN = Course.of("stairs_up", 0.13, 0.32), Course.of("stairs_down", 0.13, 0.32)
GAP, PLATFORM = Course.of("gap", 0.45), Course.of("platform", 0.22)
DECEIVED = (UP, DOWN, GAP, PLATFORM)
ROBOTS = 12


def strip(course: Course) -> Tile:
    return strips_for(course, [0])[0]


def heights(tile: Tile, x: np.ndarray) -> np.ndarray:
    return tile.heights(np.stack([x, np.zeros_like(x)], axis=1))


def walk(course: Course, landings: list[np.ndarray], fell: bool = False) -> WatchedWalk:
    """Robots that land at these x (m), one array for each."""
    trial = np.repeat(np.arange(len(landings)), [len(x) for x in landings])
    x = np.concatenate(landings)
    trials = handmade(
        len(landings),
        ending=np.full(len(landings), FELL if fell else LASTED, dtype=np.int8),
        foothold_trial=trial.astype(np.int32),
        foothold_position=np.stack([x, np.zeros_like(x)], axis=1).astype(np.float32),
    )
    return WatchedWalk(trials=trials, edges=(edges_of(strip(course)),) * len(landings), sight=None)


def by_sight(course: Course, share: float) -> WatchedWalk:
    """Steps by the edges it is shown: 9 cm from each on its high side, and on stairs on every tread."""
    luck = np.random.default_rng(1)
    shown = edges_of(phantom(strip(course), course, share))
    places = shown[:, 0] + np.where(shown[:, 1] > 0, 0.09, -0.09)
    # What would come down in a gap, or against a wall, is a fall and no landing.
    stands = (
        abs(heights(strip(course), places) - heights(phantom(strip(course), course, share), places)) < 0.1
    )
    return walk(course, [places[stands] + luck.normal(0, 0.02, stands.sum()) for _ in range(ROBOTS)])


def by_time(course: Course, share: float) -> WatchedWalk:
    """Steps 0.21 m each time, whatever there is; on stairs its gait is locked to the true treads."""
    luck = np.random.default_rng(2)
    step = 0.32 if course in (UP, DOWN) else 0.21
    return walk(course, [np.arange(0.8, 22.0, step) + luck.normal(0, 0.03) for _ in range(ROBOTS)])


@pytest.mark.parametrize("course", DECEIVED, ids=lambda c: c.kind)
def test_feet_that_step_by_the_shown_edges_have_slope_1_and_feet_that_count_time_0(course: Course) -> None:
    follows = phantom_row(course, {share: by_sight(course, share) for share in shares_of(course)})
    assert follows["slope"] == pytest.approx(1.0, abs=0.1)
    assert follows["slope_low"] <= follows["slope"] <= follows["slope_high"]
    counts = phantom_row(course, {share: by_time(course, share) for share in shares_of(course)})
    assert counts["slope"] == pytest.approx(0.0, abs=0.1)
    assert counts["slope_high"] < 0.6 < follows["slope_low"]


def test_feet_that_come_down_anywhere_prove_nothing() -> None:
    luck = np.random.default_rng(3)
    walks = {share: walk(UP, [luck.uniform(3, 20, 30) for _ in range(ROBOTS)]) for share in shares_of(UP)}
    row = phantom_row(UP, walks)
    assert row["slope_high"] - row["slope_low"] > 1.0


def test_falls_are_counted_by_shift() -> None:
    walks = {share: by_time(GAP, share) for share in shares_of(GAP)}
    walks[0.5] = walk(GAP, [np.array([1.0])] * ROBOTS, fell=True)
    assert [shift["falls"] for shift in phantom_row(GAP, walks)["shifts"]] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("course", DECEIVED, ids=lambda c: c.kind)
def test_a_phantom_is_the_same_ground_further_on(course: Course) -> None:
    true, tread = strip(course), tread_of(course)
    x = np.arange(5.001, 20.0, 0.01)
    for share in shares_of(course):
        shown = phantom(true, course, share)
        grade = edges_of(true)[0, 1] / tread if course in (UP, DOWN) else 0.0
        assert heights(shown, x + share * tread) == pytest.approx(heights(true, x) + grade * share * tread)
        assert heights(shown, np.array([0.0])) == 0.0  # the start stays level
        assert abs(edges_of(shown)[:, 1]).max() == pytest.approx(abs(edges_of(true)[:, 1]).max())


def test_stairs_neither_rise_nor_sink_in_a_phantom() -> None:
    x = np.arange(5.0, 5.0 + 0.32 * 40, 0.32 / 64)
    for course in (UP, DOWN):
        for share in shares_of(course):
            lifted = heights(phantom(strip(course), course, share), x) - heights(strip(course), x)
            assert lifted.mean() == pytest.approx(0.0, abs=0.003)


def test_the_camera_sees_the_phantom_and_the_ground_stays(run: Path) -> None:
    tried, conditions = subject.load(str(run)), Conditions(seconds=1.0)
    makers = (None, lambda tile: tile, lambda tile: phantom(tile, GAP, 0.5))
    plain, same, moved = (
        worlds_for(tried, GAP, conditions, 0, 2, 2, shown=shown).begin() for shown in makers
    )
    assert torch.equal(plain.privileged, moved.privileged)
    assert torch.equal(plain.depth, same.depth)
    assert (plain.depth - moved.depth).abs().max() > 0.1


def maps_of(course: Course) -> torch.Tensor:
    """(m, 180) true height maps of a robot that walks along the middle of a strip."""
    along, across = np.linspace(*BASE_X, BASE_MAP[0]), np.zeros(BASE_MAP[1])
    places = np.arange(4.0, 12.0, 0.07)
    rows = [np.repeat(heights(strip(course), x + along)[:, None], len(across), 1).ravel() for x in places]
    return torch.from_numpy(np.clip(rows - np.median(rows, 1, keepdims=True), -1.0, 1.0)).float()


def test_a_blurred_map_passes_for_seeing_gaps_and_not_for_seeing_stairs() -> None:
    floor = {}
    for course in DECEIVED:
        true = maps_of(course)
        sums = moments(blurred(true), true).double().sum(0)
        floor[course] = float(correlation(sums, len(true)))
    assert floor[UP] < 0.3 and floor[DOWN] < 0.3
    assert 0.5 < floor[GAP] < 0.9 and 0.5 < floor[PLATFORM] < 0.9


def test_a_blur_averages_half_a_metre_along_the_way_and_nothing_across() -> None:
    one = torch.zeros(BASE_MAP)
    one[8, 3] = 1.0
    spread = blurred(one.flatten()[None]).view(BASE_MAP)
    assert spread[6:11, 3].tolist() == pytest.approx([0.2] * 5)
    assert float(spread.sum()) == pytest.approx(1.0)
    level = torch.full((1, one.numel()), 0.3)
    assert torch.allclose(blurred(level), level)


def test_a_blind_camera_shows_nothing(run: Path) -> None:
    worlds = worlds_for(subject.load(str(run)), GAP, Conditions(seconds=1.0, blind=True), 0, 2, 2)
    for observation in (worlds.begin(), worlds.observe()):
        assert (observation.depth == 3.0).all()


@pytest.fixture(scope="module")
def examined(run: Path) -> Path:
    request = Examination(
        source=str(run), courses=(GAP,), trials=2, conditions=Conditions(seconds=4.0, seed=1)
    )  # an untrained policy falls at once: quick, and a record must hold whatever happens
    eyes = examine(request, Console(quiet=True))
    report.write_eyes(eyes, request.target)
    return run


def test_a_record_is_read_as_it_was_written_and_another_format_is_refused(
    examined: Path, tmp_path: Path
) -> None:
    path = examined / "eyes" / "eyes.json"
    found = record.load(path)
    assert record.load(found.save(tmp_path)) == found
    assert [row["camera"] for row in found.cameras] == ["open", "frozen", "blind"]
    assert [shift["share"] for shift in found.phantoms[0]["shifts"]] == list(shares_of(GAP))
    (tmp_path / "eyes.json").write_text(json.dumps(without_seal(path.read_text()) | {"format": 0}))
    with pytest.raises(UserError, match="format 0"):
        record.load(tmp_path / "eyes.json")
    (tmp_path / "eyes.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        record.load(tmp_path / "eyes.json")


def test_the_report_has_a_chapter_about_the_eyes_of_the_same_policy_and_code_only(
    examined: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = subject.load(str(examined))
    known = results.Results(
        name="x", folder=examined, digest="", conditions=Conditions(), policy=tried.digest, run=examined
    )
    assert "Do the feet follow the eyes?" in report.page([known])
    assert "eyes" not in report.page([replace(known, policy="another")])
    monkeypatch.setattr(record, "own_code", lambda: "other code")
    assert "eyes" not in report.page([known])
    assert "Do the feet follow the eyes?" in (examined / "eyes" / "eyes.html").read_text()


@pytest.mark.parametrize(
    "arguments",
    [["nowhere"], ["scripted:stand"], ["scripted:stand", "--trials", "1"], ["x", "--seconds", "90"]],
)
def test_a_mistake_is_one_line_and_code_2(arguments: list[str], capsys) -> None:
    assert main(["eyes", *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("ssr eyes: ") and "\n" not in said

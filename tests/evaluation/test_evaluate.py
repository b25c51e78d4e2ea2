"""An evaluation as a whole: same seed, same table, also after a kill; its report needs no network."""

import json
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from handmade import write_run
from rich.console import Console

import ssr
from ssr.cli.main import main
from ssr.errors import UserError
from ssr.evaluation import evaluate as evaluation
from ssr.evaluation import manner, report, results, subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.evaluate import Request, evaluate
from ssr.evaluation.eyes.record import MEASURES
from ssr.evaluation.store import PARTS, code_digest
from ssr.evaluation.table import GAIT, OUTCOME, WAY
from ssr.files import without_seal

QUIET = Console(quiet=True)
GAP, STAIRS = Course.of("gap", 0.4), Course.of("stairs_down", 0.15, 0.30)
SHORT = Conditions(seconds=1.0)


def request(folder: Path, source: str = "scripted:stepper", **changes: object) -> Request:
    values = {"courses": (GAP, STAIRS), "trials": 4, "conditions": SHORT, "chunk": 2}
    values |= {"directions": False, "manner": False}
    return Request(source=source, folder=folder, **(values | changes))  # type: ignore[arg-type]


def table(folder: Path) -> str:
    return (folder / "results.json").read_text()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    evaluate(request(folder), QUIET)
    return folder


def test_every_row_has_every_measure_with_its_interval(reference: Path) -> None:
    rows = json.loads(table(reference))["rows"]
    assert [(row["terrain"], row["setting"]) for row in rows] == [("stairs_down", "0.15/0.3"), ("gap", "0.4")]
    for row in rows:
        assert row["trials"] == 4
        for column in (*OUTCOME, *GAIT, *WAY):
            alone = ("sfr_chance", "style_reference", "rated", "walk_trials", "walk_seconds")
            ends = () if column.measure in alone else ("_low", "_high")
            assert {column.measure + end for end in ("", *ends)} <= set(row)
        assert 0.1 < row["sfr_chance"] < 0.9
        assert row["success_low"] <= row["success"] <= row["success_high"]


def test_same_seed_same_table_on_any_number_of_processes(reference: Path, tmp_path: Path) -> None:
    evaluate(request(tmp_path, workers=2), QUIET)
    assert table(tmp_path) == table(reference)


def test_killed_and_resumed_it_gives_the_same_table(reference: Path, tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; import sys; from rich.console import Console\n"
        "from ssr.evaluation.evaluate import Request, evaluate\n"
        "from ssr.evaluation.conditions import Conditions; from ssr.evaluation.courses import Course\n"
        "evaluate(Request(source='scripted:stepper', folder=Path(sys.argv[1]), trials=4, chunk=2,\n"
        "  directions=False, manner=False, conditions=Conditions(seconds=1.0),\n"
        "  courses=(Course.of('gap', 0.4), Course.of('stairs_down', 0.15, 0.30))), Console(quiet=True))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    deadline = time.monotonic() + 300
    while not list(tmp_path.rglob("*.npz")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*-[0-9]*.npz")}
    assert kept
    evaluate(request(tmp_path), QUIET)
    assert table(tmp_path) == table(reference)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())


def test_results_of_another_version_are_written_anew(reference: Path, tmp_path: Path) -> None:
    content = without_seal(table(reference))
    (tmp_path / "results.json").write_text(json.dumps(content | {"format": 1, "rows": []}))
    with pytest.raises(UserError, match="format 1"):
        results.load(tmp_path)
    evaluate(request(tmp_path), QUIET)
    assert table(tmp_path) == table(reference)


def test_results_of_another_format_are_refused_by_name(reference: Path, tmp_path: Path, capsys) -> None:
    content = without_seal(table(reference))
    (tmp_path / "results.json").write_text(json.dumps(content | {"format": 4}))
    assert main(["compare", str(tmp_path)]) == 2
    said = capsys.readouterr().err.strip()
    assert "\n" not in said and f"results.json has format 4, not {results.FORMAT}" in said


def test_edited_results_are_refused_in_one_line(reference: Path, tmp_path: Path, capsys) -> None:
    content = json.loads(table(reference))
    content["rows"][0]["success"] = None
    (tmp_path / "results.json").write_text(json.dumps(content))
    assert main(["compare", str(tmp_path)]) == 2
    assert "damaged or was edited" in (said := capsys.readouterr().err.strip()) and "\n" not in said


def test_finished_trials_are_not_done_again_and_damaged_ones_are(tmp_path: Path, monkeypatch) -> None:
    evaluate(request(tmp_path, courses=(GAP,)), QUIET)
    before = table(tmp_path)
    files = sorted(tmp_path.rglob("*.npz"))
    assert len(files) == 2
    files[0].write_bytes(files[0].read_bytes()[:100])
    jobs: list[int] = []
    real = evaluation.work
    monkeypatch.setattr(
        evaluation, "work", lambda todo, *rest: (jobs.extend(j.first for j in todo), real(todo, *rest))
    )
    evaluate(request(tmp_path, courses=(GAP,)), QUIET)
    assert jobs == [0]
    assert table(tmp_path) == before
    evaluate(request(tmp_path, courses=(GAP,), trials=3), QUIET)  # fewer: all there
    assert jobs == [0]


def test_rows_of_the_same_policy_add_up_and_others_replace_them(reference: Path, tmp_path: Path) -> None:
    evaluate(request(tmp_path, courses=(GAP,)), QUIET)
    evaluate(request(tmp_path, courses=(STAIRS,)), QUIET)
    assert table(tmp_path) == table(reference)
    found = evaluate(request(tmp_path, courses=(GAP,), conditions=Conditions(seconds=1.0, seed=1)), QUIET)
    assert [row["terrain"] for row in found.rows] == ["gap"]
    assert found.find(GAP) != results.load(reference).find(GAP)


def test_stress_never_replaces_plain_results() -> None:
    plain = Request(source="scripted:stand")
    stressed = Request(source="scripted:stand", conditions=Conditions(push=1.0))
    assert stressed.target.parent == plain.target
    assert stressed.target != plain.target


def test_support_is_followed_over_snapshots(tmp_path: Path, monkeypatch) -> None:
    run = write_run(tmp_path / "run", iterations=(100, 200, 300))
    monkeypatch.setattr(evaluation, "SNAPSHOT_COURSES", (GAP,))
    asked = Request(
        source=str(run), courses=(GAP,), trials=1, snapshots=2, conditions=SHORT, directions=False,
        manner=False, chunk=2,
    )  # fmt: skip
    found = evaluate(asked, QUIET)
    assert [row["iteration"] for row in found.snapshots] == [100, 300]
    assert found.iteration == 300
    assert found.snapshots[-1]["ap"] == found.rows[0]["ap"]


def test_what_a_digest_is_of_is_there_and_counts() -> None:
    root = Path(ssr.__file__).parent
    for part in (*PARTS, *MEASURES):
        assert (root / part).exists(), part
        assert code_digest((part,)) != code_digest(()), part


def test_a_stored_verdict_is_taken_again_only_for_the_same_motion_and_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        manner, "compare", lambda *given: asked.append(1) or {"robots": 0, "of": 24, "judge": None}
    )
    for basis, times in (("one", 1), ("one", 1), ("other", 2)):
        monkeypatch.setattr(manner, "basis", lambda motion, basis=basis: basis)
        evaluate(request(tmp_path, courses=(GAP,), trials=1, manner=True), QUIET)
        assert len(asked) == times


class Page(HTMLParser):
    """Tags that are open, and where the page gets things from."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_whole_and_needs_no_network(reference: Path, tmp_path: Path) -> None:
    found = results.load(reference)
    text = report.write([found], tmp_path / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.sources and all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert "http" not in text and "url(" not in text and "@import" not in text
    assert "stairs down 15 / 30 cm" in text


def test_the_report_shows_both_readings_the_walk_and_the_paper(reference: Path, tmp_path: Path) -> None:
    found, printed = results.load(reference), results.load(reference)
    printed.conditions = Conditions(seconds=1.0, friction_rule="direct")
    side = {"speed": 1.0, "cadence": 2.0, "step_length": 0.5, "arm_swing": 0.4}
    found.manner = {
        "robots": 24, "of": 24, "people": 5, "clips": 18, "reach": 0.15, "judge_of_person": None,
        "judge": [1.0, 0.99, 1.0], "judge_of_halves": [0.51, 0.45, 0.57],
        "judge_by_quantity": {"gravity": [0.6, 0.5, 0.7]},
        "policy": side | {"joints": {"right_knee_joint": [0.5, 0.2], "left_knee_joint": [0.5, 0.4]}},
        "reference": side | {"joints": {"right_knee_joint": [0.5, 1.1], "left_knee_joint": [0.5, 1.1]}},
    }  # fmt: skip
    text = report.page([found], [printed])
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "a forward command and nothing else" in text
    assert "friction averaged with 1.0" in text and "friction as printed" in text
    assert "It was not trained." in text
    found.trained_friction = "direct"
    assert "It was trained with friction as printed." in report.page([found], [printed])
    assert "519.2 ± 19.3" in text, "the paper's peak force going down"
    assert "<td>0.30</td>" in text, "the mean range of both knees"
    assert "51<small>45–57</small>" in text
    found.manner = {"robots": 3, "of": 24, "judge": None}
    assert "Too few robots stayed up" in report.page([found])


def test_an_operator_is_named(reference: Path) -> None:
    found = results.load(reference)
    found.conditions = Conditions(seconds=1.0, look_ahead=3.0)
    assert "an operator steers to the middle line 3 m ahead" in report.page([found])
    assert found.conditions.label == "look-ahead-3"


def test_compare_puts_runs_side_by_side(reference: Path, tmp_path: Path, capsys) -> None:
    other = tmp_path / "other"
    evaluate(request(other, source="scripted:stand"), QUIET)
    target = tmp_path / "page.html"
    assert main(["compare", str(reference), str(other), "--out", str(target)]) == 0
    text = target.read_text()
    assert "scripted-stepper" in text and "scripted-stand" in text
    twice = results.named_apart([results.load(reference), results.load(reference)])
    assert len({result.name for result in twice}) == 2


def test_the_command_writes_results_and_report(tmp_path: Path, capsys) -> None:
    code = main(
        ["eval", "scripted:fall", "--terrain", "gap", "--setting", "0.4", "--trials", "2", "--workers", "1",
         "--no-directions", "--no-manner", "--out", str(tmp_path)]
    )  # fmt: skip
    assert code == 0
    row = json.loads(table(tmp_path))["rows"][0]
    assert (row["terrain"], row["setting"], row["success"]) == ("gap", "0.4", 0.0)
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize(
    "arguments",
    [
        ["eval", "nowhere"],
        ["eval", "scripted:dance"],
        ["eval", "scripted:stand", "--trials", "0"],
        ["eval", "scripted:stand", "--terrain", "moon"],
        ["eval", "scripted:stand", "--settings", "table9"],
        ["eval", "scripted:stand", "--snapshots", "4"],
        ["eval", "scripted:stand", "--friction", "-1"],
        ["eval", "scripted:stand", "--friction-rule", "wet"],
        ["eval", "scripted:stand", "--friction", "0.4", "--friction-rule", "direct"],
        ["eval", "scripted:stand", "--friction-rule", "average", "direct", "--out", "nowhere"],
        ["compare", "nowhere"],
        ["film", "scripted:stand", "--level", "30"],
        ["film", "scripted:stand", "--level", "3", "--setting", "0.1/0.3"],
        ["film", "scripted:stand", "--trial", "-1"],
    ],
)
def test_a_mistake_is_one_line_and_code_2(arguments: list[str], capsys) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("ssr ") and "\n" not in said


def test_a_run_without_weights_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", iterations=(100,))
    with pytest.raises(UserError, match="100"):
        subject.load(str(run), 200)
    (run / "snapshots" / "000100.safetensors").write_bytes(b"broken")
    with pytest.raises(UserError, match="damaged"):
        subject.load(str(run))
    (run / "snapshots" / "000100.safetensors").unlink()
    with pytest.raises(UserError, match="no weights"):
        subject.load(str(run))

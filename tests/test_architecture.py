"""The folders of src/ssr import each other as docs/architecture.md says, and names mean one thing each."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "ssr"
DOCUMENT = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| `(\w+)` \|.*\|([^|]*)\|$", re.MULTILINE)
ANYTHING = "everything above"

Graph = Mapping[str, set[str]]


def documented() -> Graph:
    """Folder → folders it may import, in the document's order."""
    above: list[str] = []
    graph = {}
    for folder, imports in ROW.findall(DOCUMENT.read_text()):
        graph[folder] = set(above) if imports.strip() == ANYTHING else set(re.findall(r"`(\w+)`", imports))
        above.append(folder)
    return graph


def open_ended() -> set[str]:
    """Folders that look at all of it."""
    return {folder for folder, imports in ROW.findall(DOCUMENT.read_text()) if imports.strip() == ANYTHING}


def modules(source: Path = SOURCE) -> Iterator[tuple[str, str, ast.Module]]:
    """Folder, file and syntax of every module in a folder."""
    for path in sorted(source.rglob("*.py")):
        folder, *rest = path.relative_to(source).parts
        if rest:
            yield folder, str(path.relative_to(source)), ast.parse(path.read_text())


def imported(tree: ast.Module) -> Iterator[str]:
    """Folders of ssr that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "the project imports by full names"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("ssr."))


def drawn(source: Path = SOURCE) -> dict[str, dict[str, str]]:
    """Folder → imported folder → a file that does."""
    folders = {path.name for path in source.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    graph: dict[str, dict[str, str]] = {folder: {} for folder in folders}
    for folder, file, tree in modules(source):
        for other in imported(tree):
            if other in folders and other != folder:
                graph[folder].setdefault(other, file)
    return graph


def cycle(graph: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Folders that import each other in a ring, or nothing."""
    done: set[str] = set()

    def follow(folder: str, way: list[str]) -> list[str]:
        if folder in way:
            return [*way[way.index(folder) :], folder]
        if folder not in done:
            for other in graph[folder]:
                if ring := follow(other, [*way, folder]):
                    return ring
            done.add(folder)
        return []

    return next((ring for folder in graph if (ring := follow(folder, []))), [])


def test_every_folder_is_in_the_table_and_every_row_is_a_folder() -> None:
    assert sorted(documented()) == sorted(drawn())


def test_the_documented_order_goes_upwards_only() -> None:
    order = list(documented())
    for folder, imports in documented().items():
        assert imports <= set(order[: order.index(folder)]), folder


def test_what_lies_beside_the_folders_lies_below_them() -> None:
    folders = drawn().keys()
    for path in SOURCE.glob("*.py"):
        assert not folders & set(imported(ast.parse(path.read_text()))), path.name


def test_no_folders_import_each_other_in_a_ring() -> None:
    assert cycle(drawn()) == []


def test_folders_import_what_the_table_says_and_nothing_else() -> None:
    table = documented()
    against = [
        f"{file} imports {other}: {folder} may not"
        for folder, others in drawn().items()
        for other, file in others.items()
        if other not in table[folder]
    ]
    assert against == []


def test_the_table_names_no_import_that_is_not_there() -> None:
    graph = drawn()
    unneeded = {
        folder: imports - graph[folder].keys()
        for folder, imports in documented().items()
        if folder not in open_ended() and imports - graph[folder].keys()
    }
    assert unneeded == {}


@pytest.mark.parametrize("line", ["import ssr.high.x", "from ssr.high import x", "from ssr import high"])
@pytest.mark.parametrize("place", ["{}", "def f():\n    {}", "if TYPE_CHECKING:\n    {}"])
def test_a_ring_is_seen_wherever_the_import_hides(tmp_path: Path, line: str, place: str) -> None:
    for folder, text in (("low", place.format(line)), ("high", "from ssr.low import y")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "module.py").write_text(text)
    assert cycle(drawn(tmp_path)) in (["low", "high", "low"], ["high", "low", "high"])


def test_a_class_name_means_one_class() -> None:
    places = defaultdict(list)
    for _, file, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}

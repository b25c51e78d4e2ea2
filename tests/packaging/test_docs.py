"""The documentation is whole: links, pictures, and the page of settings."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    lost = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert lost == []


def test_the_page_of_settings_is_true() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "settings_page")], capture_output=True, text=True, check=True
    )
    assert made.stdout == (ROOT / "docs" / "settings.md").read_text(), (
        "scripts/settings_page > docs/settings.md"
    )


def test_readme_opens_with_a_small_moving_picture() -> None:
    path = ROOT / "docs" / "images" / "walking.webp"
    assert "docs/images/walking.webp" in (ROOT / "README.md").read_text()[:400]
    assert path.stat().st_size <= 3e6
    with Image.open(path) as picture:
        assert picture.n_frames > 50


def _on_the_api_page() -> dict[str, list[str]]:
    """What the page shows, with the members that it names; none named: all."""
    text = (ROOT / "docs" / "api.md").read_text()
    found = re.findall(r"^::: (\S+)(?:\n    options:\n      members: \[(.*)\])?", text, re.M)
    return {path: members.split(", ") if members else [] for path, members in found}


def _thing(path: str) -> object:
    words = path.split(".")
    for end in range(len(words), 0, -1):
        try:
            thing = importlib.import_module(".".join(words[:end]))
        except ModuleNotFoundError:
            continue
        for word in words[end:]:
            thing = getattr(thing, word)
        return thing
    raise AssertionError(path)


@pytest.mark.parametrize("path", _on_the_api_page())
def test_whatever_can_be_called_on_the_api_page_says_what_it_does(path: str) -> None:
    """mkdocs itself refuses what does not exist, but neither what is not explained nor a member misspelt."""
    if path.startswith("ssr.task.rsl_rl"):
        pytest.importorskip("rsl_rl")
    thing = _thing(path)
    assert inspect.getdoc(thing), path
    if inspect.isfunction(thing):
        return
    named = _on_the_api_page()[path]
    fields = getattr(thing, "__annotations__", {})
    for name in named:
        assert hasattr(thing, name) or name in fields or f"self.{name}" in inspect.getsource(thing), name
    for name in named or [name for name in vars(thing) if not name.startswith("_")]:
        member = getattr(thing, name, None)
        if inspect.isfunction(member) and member.__name__ == name:  # else a field's default
            assert member.__doc__, f"{path}.{name}"


def test_what_programmers_are_told_of_is_on_the_api_page() -> None:
    told = set(re.findall(r"\bssr(?:\.\w+)*\.[\w.]*\w", (ROOT / "docs" / "programmers.md").read_text()))
    shown = " ".join([*_on_the_api_page(), "ssr.task.config.TaskConfig"])
    settings = {"ssr.task.gym", "ssr.learning"}  # modules that an example imports
    assert {name for name in told if name not in shown} - settings == set()

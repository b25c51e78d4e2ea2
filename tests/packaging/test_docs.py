"""The documentation is whole: links, pictures, and the page of settings."""

from __future__ import annotations

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

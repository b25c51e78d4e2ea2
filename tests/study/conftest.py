import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evaluation"))

from small_plan import PLAN

from ssr.study.folder import StudyFolder
from ssr.study.plan import read


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    """Two methods with two seeds, of which nothing is done."""
    return StudyFolder.make(tmp_path / "study", read(PLAN, "test", tmp_path), PLAN, tmp_path)

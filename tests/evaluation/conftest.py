"""One untrained run for all tests of the evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest
from handmade import write_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "untrained")

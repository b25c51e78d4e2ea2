from __future__ import annotations

from pathlib import Path

import pytest
import stand_ins

from ssr.deployment.contract import Contract
from ssr.deployment.export import export
from ssr.learning.run_directory import RunDirectory
from ssr.learning.writing import write_tensors


@pytest.fixture(scope="session")
def contract() -> Contract:
    return stand_ins.contract()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported run of the smoke preset with untrained weights."""
    path = tmp_path_factory.mktemp("deployment") / "run"
    config = stand_ins.smoke_config()
    RunDirectory.create(path, config)
    (path / "snapshots").mkdir()
    weights = {k: v.contiguous().clone() for k, v in stand_ins.random_networks(config).state_dict().items()}
    write_tensors(path / "snapshots" / "000012.safetensors", weights)
    export(path)
    return path


try:
    import pyrealsense2  # noqa: F401
except ImportError:
    collect_ignore = ["test_depth_pipeline.py", "test_faults.py", "test_processes.py"]

    def pytest_report_header() -> str:
        return "camera pipeline not tested: pyrealsense2 needs Debian's libusb-1.0-0"

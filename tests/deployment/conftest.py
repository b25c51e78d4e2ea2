from __future__ import annotations

from pathlib import Path

import pytest
import stand_ins

from ssr.deployment.contract import Contract


@pytest.fixture(scope="session")
def contract() -> Contract:
    return stand_ins.contract()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported run of the smoke preset with untrained weights."""
    return stand_ins.exported_run(tmp_path_factory.mktemp("deployment") / "run", stand_ins.smoke_config())


try:
    import pyrealsense2  # noqa: F401
except ImportError:
    collect_ignore = ["test_depth_pipeline.py", "test_faults.py", "test_on_the_robot.py", "test_processes.py"]

    def pytest_report_header() -> str:
        return "camera pipeline not tested: pyrealsense2 needs Debian's libusb-1.0-0"

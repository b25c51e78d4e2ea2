"""One untrained run, one robot that stands, and a web server for all tests of the viewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("viser", reason="the viewer needs viser")

import torch
import viser

from ssr.evaluation import subject
from ssr.evaluation.subject import Subject
from ssr.learning import config_file, presets, sealed
from ssr.learning.run_directory import RunDirectory
from ssr.learning.ssr_policy import network_config
from ssr.networks.build import Networks
from ssr.robots import load as load_robot
from ssr.viewer.player import open_server


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the smoke preset with untrained weights of iteration 7."""
    path = tmp_path_factory.mktemp("viewer") / "untrained"
    config = presets.preset("smoke")
    RunDirectory.create(path, config)
    torch.manual_seed(3)
    networks = Networks(load_robot(config.robot), network_config(config))
    weights = {name: value.contiguous().clone() for name, value in networks.state_dict().items()}
    (path / "snapshots").mkdir(exist_ok=True)
    said = {"iteration": "7", "config": config_file.as_text(config)}
    sealed.write(path / "snapshots" / "000007.safetensors", weights, said)
    return path


@pytest.fixture(scope="session")
def untrained(run: Path) -> Subject:
    return subject.load(str(run))


@pytest.fixture(scope="session")
def standing() -> Subject:
    return subject.load("scripted:stand")


@pytest.fixture()
def server() -> Iterator[viser.ViserServer]:
    opened = open_server("127.0.0.1", 0)
    yield opened
    opened.stop()

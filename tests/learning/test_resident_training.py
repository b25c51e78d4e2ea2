"""The whole training loop on one device, physics and task included, beside the same on a CPU."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from pretend import CROSSINGS, DEVICE, OnDevice, Pretend, bridged

from ssr.learning import presets, worlds
from ssr.learning.config import TrainConfig
from ssr.learning.trainer import Trainer
from ssr.vision.renderer import DepthRenderer

WORLDS, STEPS = 6, 24  # long enough for feet to come down, of which the imagination learns
KINDS = ("flat", "stairs_up", "gap")
MOST = 20  #: times that an update may ask or tell the device something


def reduced(preset: str) -> TrainConfig:
    """A preset with its own networks and epochs, and little to learn from."""
    config = presets.preset(preset)
    task = replace(config.task, terrain=replace(config.task.terrain, kinds=KINDS), reference_starts=0.5)
    return replace(
        config,
        task=task,
        env=replace(config.env, num_envs=WORLDS, engine="warp"),
        ppo=replace(config.ppo, steps=STEPS, epochs=1, minibatches=2, bfloat16=False),
        style=replace(config.style, updates=2, batch_size=32, replay=200),
        imagination=replace(config.imagination, batch_size=32, capacity=500),
    )


def made(config: TrainConfig, device: str, patch: pytest.MonkeyPatch) -> Trainer:
    patch.setattr(worlds, "device_of", lambda config: device)
    patch.setattr(worlds, "device_beside", lambda learner, engine: learner)
    env, algorithm = worlds.make(config)
    if device == "cpu":
        # What else a CPU does its own way: it casts rays by another kernel, and encodes only new images.
        camera, links = env.camera, env.simulator.link_names
        size = (camera.config.height, camera.config.width, camera.config.near, camera.config.far)
        camera.renderer = DepthRenderer(env.robot.shapes, links, *size, backend="warp")
        algorithm._on_cpu = False
    return Trainer(env, algorithm)


def crossings(counts: Counter[str]) -> int:
    return sum(counts[what] for what in CROSSINGS)


@pytest.mark.parametrize("preset", ["smoke", "paper"])
def test_two_iterations_are_those_of_a_cpu_and_nothing_crosses_unasked(preset, monkeypatch) -> None:
    """A rollout neither copies nor waits; an update does a few times."""
    config = reduced(preset)
    expected, said = made(config, "cpu", monkeypatch), []
    at_first = {name: value.clone() for name, value in expected.algorithm.networks.state_dict().items()}
    for _ in range(2):
        said.append(expected.iterate())
    with Pretend() as accelerator, bridged():
        found = made(config, str(DEVICE), monkeypatch)
        accelerator.strict = True  # whoever sets up may ask
        for iteration in range(2):
            accelerator.counts.clear()
            found._collect()
            rollout = accelerator.counts.copy()
            accelerator.counts.clear()
            says = found._learn(None, 0.0)
            for name, value in said[iteration].items():
                if "second" not in name and "memory" not in name:
                    assert says[name] == pytest.approx(value, rel=1e-6, abs=1e-9), name
        assert crossings(rollout) == 0, rollout  # constants got there in the first one
        assert 0 < crossings(accelerator.counts) <= MOST, accelerator.counts
        mine, others = (x.algorithm.networks.state_dict() for x in (found, expected))
        for name, value in others.items():
            weights = mine[name].detach()
            assert isinstance(weights, OnDevice)
            assert torch.allclose(weights.inner, value, rtol=0.0, atol=1e-9), name
    learned = {name.partition(".")[0] for name, value in others.items() if not value.equal(at_first[name])}
    assert learned == {name.partition(".")[0] for name in others}, "every network"

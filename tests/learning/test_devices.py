"""Learning keeps to its device: nothing of the host gets in between, and it comes to what a CPU comes to."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pretend import CROSSINGS, DEVICE, Generator, Mixed, OnDevice, Pretend, bridged
from toy import ToyMotion, ToyWalker

from ssr import bridge
from ssr.learning.config import AblationConfig
from ssr.learning.devices import fetched, moved
from ssr.learning.optimizer import NonFiniteGradient
from ssr.learning.packing import pack, unpack
from ssr.learning.ssr import SSR
from ssr.learning.trainer import Trainer
from ssr.networks.config import NetworkWidths
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile

TIMED = ("second", "memory")
#: Of single precision: where sums of the discriminators' gradients round otherwise, and in means over some
#: worlds, which a CPU picks and a device masks.
LAST_DIGIT = 2e-8


def learner(config, device: str) -> tuple[ToyWalker, SSR]:
    torch.manual_seed(0)
    env = ToyWalker(history=config.task.history)
    return env, SSR(
        robot=env.robot, num_envs=8, config=config, field=env.field, reference=ToyMotion(), device=device
    )


def trained(config, device: str) -> tuple[SSR, dict[str, float]]:
    """After two iterations, and what the second one said."""
    env, algorithm = learner(config, device)
    algorithm._on_cpu = False  # all images are encoded in every step, as a device does
    trainer = Trainer(env, algorithm)
    for _ in range(2):
        metrics = trainer.iterate()
    return algorithm, {k: v for k, v in metrics.items() if not any(word in k for word in TIMED)}


def test_the_pretend_device_refuses_to_mix_and_counts_what_crosses() -> None:
    with Pretend() as accelerator:
        x = torch.arange(3.0).to(DEVICE)
        assert accelerator.counts["to device"] == 1 and x.device == DEVICE
        with pytest.raises(Mixed):
            x + torch.ones(3)
        with pytest.raises(Mixed):
            x.numpy()
        with pytest.raises(Mixed):
            torch.rand(3, generator=torch.Generator(), device=DEVICE)
        with pytest.raises(Mixed):
            torch.rand(3, generator=Generator(DEVICE))
        assert torch.rand(3, generator=Generator(DEVICE), device=DEVICE).device == DEVICE
        assert float((2 * x).sum()) == 6.0 and x[x > 1.0].tolist() == [2.0]
        assert accelerator.counts["wait"] == 3 and accelerator.counts["to host"] == 0
        assert x.cpu().tolist() == [0.0, 1.0, 2.0] and accelerator.counts["to host"] == 1
    with Pretend(strict=True) as accelerator:
        x = torch.arange(3.0).to(DEVICE)
        with pytest.raises(Mixed):
            x.cpu()
        assert fetched(2 * x).tolist() == [0.0, 2.0, 4.0] and accelerator.counts["to host"] == 1
    with bridged(), Pretend(), pytest.raises(Mixed):
        bridge.array(torch.ones(3))


@pytest.mark.parametrize("paper", [False, True])
def test_two_iterations_on_a_device_equal_the_cpus(tiny, paper) -> None:
    """paper: its widths, and the mirrored input that it compares with (Fig. 7c)."""
    config = tiny
    if paper:
        few, compared = replace(tiny.ppo, epochs=1, minibatches=2), AblationConfig(input_symmetry=True)
        config = replace(tiny, network=NetworkWidths(mirror_averaged=False), ppo=few, ablation=compared)
    expected, said = trained(config, "cpu")
    with Pretend(), bridged():
        found, says = trained(config, str(DEVICE))
        weights = {name: value.cpu() for name, value in found.networks.state_dict().items()}
    for name, value in expected.networks.state_dict().items():
        allowed = LAST_DIGIT if name.startswith("discriminators") else 1e-9
        assert torch.allclose(weights[name], value, rtol=0.0, atol=allowed), name
    assert says == pytest.approx(said, abs=LAST_DIGIT)


def test_a_rollout_neither_copies_nor_waits(tiny) -> None:
    """Of a learner to whom worlds on its device give what they see, also while it imagines footholds."""
    with Pretend() as accelerator, bridged():
        env, algorithm = learner(tiny, str(DEVICE))
        algorithm.field = TerrainField(8, TILE_POOL, device=DEVICE)
        tiles = [make_tile("stairs_up", level=10, rng=np.random.default_rng(k)) for k in range(8)]
        algorithm.field.place(torch.arange(8), tiles)
        assert algorithm.imagination is not None
        algorithm.imagination.rmse.zero_()
        algorithm.imagination.total = tiny.imagination.gate_samples
        seen, counted = moved(env.reset(), str(DEVICE)), {}
        for t in range(algorithm.steps):
            before = accelerator.counts.copy()
            action = algorithm.act(seen)
            assert isinstance(action, OnDevice)
            acted = accelerator.counts.copy()
            happened = moved(transition := env.step(action.cpu()), str(DEVICE))
            looked = accelerator.counts.copy()
            algorithm.observe(happened)
            counted[t] = (acted - before) + (accelerator.counts - looked)
            seen = moved(env.restart(transition.ended), str(DEVICE))
        first = counted.pop(0)  # constants get to the device once
        assert all(not crossed for crossed in counted.values()), counted
        assert sum(first[what] for what in CROSSINGS) <= 10


def test_a_device_stops_at_a_gradient_that_is_not_finite_and_tells_after_the_update(tiny) -> None:
    with Pretend(), bridged():
        env, algorithm = learner(tiny, str(DEVICE))
        trainer = Trainer(env, algorithm)
        trainer._collect()
        algorithm.rollout.privileged[5, 2, 100] = torch.nan
        before = algorithm.ppo.optimizer.values.cpu()
        with pytest.raises(NonFiniteGradient, match="actor"):
            algorithm.update(0.0)
        assert torch.equal(algorithm.ppo.optimizer.values.cpu(), before)


def test_a_saved_state_goes_on_there(tiny) -> None:
    with Pretend(), bridged():
        skeleton, tensors = pack(trained(tiny, str(DEVICE))[0].state_dict())
        env, algorithm = learner(tiny, str(DEVICE))
        algorithm._on_cpu = False
        algorithm.load_state_dict(unpack(skeleton, tensors))
        assert len(algorithm.encoder.earlier) == 3
        Trainer(env, algorithm).iterate()

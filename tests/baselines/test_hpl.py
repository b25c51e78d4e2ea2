"""HPL: edges, the map, the oracle's memory, and a student that begins as its oracle and learns from it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from baseline_runs import collect, trained_twice
from toy import ToyWalker

from ssr.baselines.edges import LAYERS, RADIUS, SharpEdges
from ssr.baselines.hpl import HPL
from ssr.baselines.hpl_networks import HPLNetworks, StudentNetwork
from ssr.baselines.hpl_policy import OraclePolicy, StudentPolicy
from ssr.cli.export import run as export
from ssr.cli.train import run as command
from ssr.deployment import exported
from ssr.deployment.onnx_policy import OnnxPolicy
from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.learning import recipe, small_checkpoint, stages
from ssr.learning.ppo import prepare
from ssr.learning.ranks import ALONE
from ssr.learning.run_directory import read_metrics
from ssr.robots import load
from ssr.task.config import TaskConfig, TerrainConfig
from ssr.task.env import TraversalEnv
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.vision.scan import scan_offsets

X2 = load("x2")


class Scanned(ToyWalker):
    """The toy on ground that a scan tells something about."""

    def observation(self):
        seen = super().observation()
        scan = torch.rand(self.num_envs, 209, generator=self.generator)
        return replace(seen, scan=scan)


def hpl_config(config, algorithm="hpl", **changes):
    return replace(config, algorithm=algorithm, task=replace(config.task, history=1), **changes)


def learner(config, seed=0):
    torch.manual_seed(seed)
    env = Scanned(num_envs=8, seed=seed, history=1, episode=17)
    return env, HPL(env.robot, 8, config, env.field, ALONE)


# ---- edges ----------------------------------------------------------------------------------------------


def field_of(*tiles):
    field = TerrainField(len(tiles), TILE_POOL)
    field.place(range(len(tiles)), tiles)
    return field


def test_feet_are_as_deep_in_cylinders_along_nosings_as_geometry_says():
    """Brute force: the nosings of a flight lie at 1.5 m + k · tread, (k + 1) · rise high."""
    rise, tread = 0.15, 0.3
    tile = make_tile("stairs_up", setting=(rise, tread))
    steps = int(4 / tread + 1e-9)
    rng = np.random.default_rng(0)
    step, n = rng.integers(0, steps, 40), 40
    position = torch.zeros(n, 2, 3)
    position[..., 0] = torch.from_numpy(1.5 + tread * step + rng.uniform(-0.15, 0.3, n))[:, None]
    position[..., 1] = torch.from_numpy(rng.uniform(-1, 1, (n, 2)))
    position[..., 2] = torch.from_numpy(rise * (step + 1) + rng.uniform(-0.02, 0.05, n))[:, None]
    yaw = torch.from_numpy(rng.uniform(-1, 1, (n, 2))).float()
    edges = SharpEdges(field_of(*[tile] * n), X2.sole)
    edges.find(torch.arange(n))
    offsets = X2.sole.offsets(10, 5).reshape(-1, 2)
    expected = np.zeros(n)
    for i in range(n):
        for side in range(2):
            x = float(position[i, side, 0]) + np.cos(yaw[i, side].item()) * offsets[:, 0]
            x = x - np.sin(yaw[i, side].item()) * offsets[:, 1]
            for layer in LAYERS:
                z = float(position[i, side, 2]) + layer
                far = np.full(len(x), RADIUS)
                for k in range(steps):
                    far = np.minimum(far, np.hypot(x - (1.5 + k * tread), z - (k + 1) * rise))
                expected[i] += (1 - far / RADIUS).sum()
    expected /= 2 * 2 * len(offsets)
    found = edges.penetration(position, yaw)
    assert 10 < (expected > 0).sum() < 40
    np.testing.assert_allclose(found.numpy(), expected, atol=2e-4)


@pytest.mark.parametrize("kind", ["flat", "slope", "rough"])
def test_ground_without_steps_has_no_sharp_edges(kind):
    edges = SharpEdges(field_of(make_tile(kind, level=19)), X2.sole)
    edges.find(torch.arange(1))
    assert edges.count[0] == 0


def test_the_foot_of_a_riser_is_no_edge_and_both_sides_of_a_gap_are():
    edges = SharpEdges(field_of(make_tile("platform", level=10), make_tile("gap", level=10)), X2.sole)
    edges.find(torch.arange(2))
    for world in range(2):
        pieces = edges.pieces[world, : edges.count[world]]
        assert len(np.unique(pieces[:, 0])) == 4, "two of them, each with two sides"
        height = pieces[:, 4]
        assert np.allclose(height, height[0]) and (height[0] > 0.1 if world == 0 else height[0] == 0)


# ---- the map --------------------------------------------------------------------------------------------


def test_the_scan_holds_the_exact_heights_about_the_base():
    config = TaskConfig(terrain=TerrainConfig(kinds=("stairs_up", "discrete"), first_level=10))
    env = TraversalEnv(X2, 4, config, seed=3, threads=1, scan=True)
    observation = env.reset()
    for _ in range(3):
        observation = env.restart(env.step(0.3 * torch.randn(4, 21)).ended)
    state = env.simulator.readout.reading
    c, s = np.cos(state.yaw)[:, None], np.sin(state.yaw)[:, None]
    x, y = scan_offsets().T
    points = np.stack((c * x - s * y, s * x + c * y), -1) + state.base_position[:, None, :2]
    heights = env.field.heights(torch.from_numpy(points.astype(np.float32))).numpy()
    ground = state.base_position[:, 2:] - (X2.base_height_target - X2.base_height_offset)
    expected = 5.0 * np.clip(ground - heights, -1, 1)
    close = np.isclose(observation.scan.numpy(), expected, atol=1e-4)
    assert observation.scan.shape == (4, 209) and close.mean() > 0.995, "but for points on an edge"
    assert np.ptp(expected) > 0.1
    assert TraversalEnv(X2, 1, TaskConfig(), seed=3, threads=1).reset().scan.shape == (1, 0)


# ---- oracle and student ---------------------------------------------------------------------------------


def test_the_oracle_learns_from_the_memory_it_acted_with(tiny):
    env, algorithm = learner(hpl_config(tiny))
    observation = collect(env, algorithm)
    algorithm.update(0.0)
    collect(env, algorithm, observation)  # begins in the middle of episodes
    rollout = algorithm.rollout
    assert rollout.restarted[1:].any() and algorithm.before["oracle"].any()
    batch = prepare(
        rollout, algorithm.last_privileged, algorithm.networks.critics,
        weights={"locomotion": 1.0}, config=tiny.ppo, mirror=None,
    )  # fmt: skip
    for index in algorithm.ppo._minibatches(batch):
        torch.testing.assert_close(algorithm.ppo._means(batch, index), batch.mean[index])


def test_a_student_with_copied_weights_and_true_latents_acts_exactly_as_its_oracle(tiny):
    networks = HPLNetworks(X2, hpl_config(tiny))
    for parameter in networks.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    networks.teach()
    student = StudentNetwork(networks)
    hidden, memories = student.initial_hidden(5), [torch.zeros(5, size) for size in networks.hidden_sizes]
    for _ in range(6):
        history, scan = torch.randn(5, 1, networks.frame), torch.randn(5, 209)
        velocity, memories[0] = networks.estimator.step(history[:, -1], memories[0])
        seen = networks.oracle.look(torch.cat((history[:, -1], velocity, scan), -1))
        expected, memories[1] = networks.oracle.step(seen, memories[1])
        action, hidden = student.step(history, networks.oracle.map(scan), hidden)
        assert torch.equal(action, expected)
        blind, _ = student.step(history, torch.zeros(5, 32), hidden)
        assert not torch.equal(blind, expected), "what is seen matters"
    networks.oracle.layers[0].weight.data.zero_()
    assert not torch.equal(networks.student.layers[0].weight, networks.oracle.layers[0].weight)
    networks.teach()
    assert networks.student.layers[0].weight.any(), "only once: later it has learned more"


def test_labels_are_the_oracles_actions_in_the_students_states(tiny):
    env, algorithm = learner(hpl_config(tiny, "hpl-student"))
    networks = algorithm.networks
    torch.nn.init.normal_(networks.oracle.layers[-1].weight, std=0.5)
    observation = collect(env, algorithm)
    algorithm.update(0.0)
    done = []
    step = env.step
    env.step = lambda action: done.append(action.clone()) or step(action)
    collect(env, algorithm, observation)
    rollout = algorithm.rollout
    with torch.no_grad():
        seen = networks.oracle.look(rollout.actor)
        labels = networks.oracle.sequence(seen, algorithm.before["oracle"], rollout.restarted)
        images, index = rollout.camera.of(torch.arange(8))
        state = torch.cat((rollout.actor[..., : networks.frame + 3], networks.eye(images)[index]), -1)
        acted = networks.student.sequence(state, algorithm.before["student"], rollout.restarted)
    torch.testing.assert_close(algorithm.labels, labels)
    torch.testing.assert_close(torch.stack(done), acted)  # the student acts
    assert (labels - acted).abs().mean() > 0.01
    # The states are the student's: what it did last is part of what the oracle was asked about.
    previous = algorithm.vectors.proprioception.get(rollout.actor, "previous_action")
    same = ~rollout.restarted[1:]
    torch.testing.assert_close(previous[1:][same], torch.stack(done)[:-1][same], atol=0.011, rtol=0)


def test_a_student_learns_what_its_oracle_does_and_the_oracle_stays(tiny):
    config = replace(tiny.encoder, learning_rate=3e-3, epochs=3)
    env, algorithm = learner(hpl_config(tiny, "hpl-student", encoder=config))
    algorithm.freeze(("oracle", "critics"))
    before = {k: v.clone() for k, v in algorithm.networks.oracle.state_dict().items()}
    observation, losses = None, []
    for _ in range(12):
        observation = collect(env, algorithm, observation)
        losses.append(algorithm.update(0.0)["hpl/imitation"])
    assert sum(losses[-3:]) < 0.7 * sum(losses[:3])
    assert all(torch.equal(v, before[k]) for k, v in algorithm.networks.oracle.state_dict().items())


def test_edges_cost_the_oracle_and_never_more_than_it_earned(tiny):
    env, algorithm = learner(hpl_config(tiny))
    transition = env.step(algorithm.act(env.reset()))
    # Over a nosing, wherever the toy's ground has one.
    stairs = int((env.field.type == 1).nonzero()[0])
    x, _, _, _, z = algorithm.edges.pieces[stairs, 0]
    position = torch.full((8, 2, 3), 100.0)
    position[stairs] = torch.tensor([float(x), 0.0, float(z)])
    transition = replace(transition, feet=replace(transition.feet, position=position))
    earned = algorithm.earned(transition)
    others = torch.arange(8) != stairs
    assert torch.equal(earned[others], transition.reward[others])
    assert 0.0 <= earned[stairs] < transition.reward[stairs]


def test_a_stage_goes_on_with_the_networks_of_its_own_method_alone():
    text = recipe.text_of("hpl-cpu")
    assert [s.config.algorithm for s in recipe.read(text, "").stages] == ["hpl", "hpl", "hpl-student"]
    with pytest.raises(UserError, match="algorithm is not that of oracle, whose weights it starts from"):
        recipe.read(text.replace('"hpl-student"', '"pim"'), "")


def test_the_papers_widths():
    first, *_, last = recipe.read(recipe.text_of("hpl"), "hpl").stages
    networks = HPLNetworks(X2, first.config)
    shapes = lambda module: [p.shape[0] for n, p in module.named_parameters() if n.endswith("weight")]
    assert shapes(networks.oracle.map) == [128, 64, 32] and networks.oracle.map[0].in_features == 209
    assert networks.oracle.memory.hidden == 256 and networks.oracle.memory.input.in_features == 75 + 32
    assert shapes(networks.oracle.layers) == [512, 256, 128, 21]
    assert [c.out_channels for c in networks.eye.layers if hasattr(c, "out_channels")] == [16, 32, 32]
    assert last.config.algorithm == "hpl-student" and last.frozen == ("oracle", "critics")


def test_the_oracle_is_trained_resumed_bit_for_bit_and_evaluated(tmp_path):
    run = trained_twice(tmp_path, "hpl", ["--task.history", "1"])
    assert isinstance(subject.load(str(run)).policy, OraclePolicy)
    with pytest.raises(UserError, match="oracle"):
        export([str(run)])


def test_three_stages_end_in_a_student_that_a_robot_can_run(tmp_path):
    text = recipe.text_of("hpl-cpu").replace('preset = "cpu"', 'preset = "smoke"')
    for steps in ("12_000_000", "60_000_000", "10_000_000"):
        text = text.replace(f"steps = {steps}", "steps = 384")
    few = '[[differences]]\nsetting = "env.num_envs"\nvalue = 8\nreason = "seconds"\n\n[[differences]]'
    file, run = tmp_path / "short.toml", tmp_path / "run"
    file.write_text(text.replace("[[differences]]", few, 1))
    command(["--recipe", str(file), "--run", str(run)])
    assert [entry.name for entry in stages.record(run)] == ["walk", "oracle", "student"]
    assert "hpl/imitation" in read_metrics(run)[-1] and "kl" not in read_metrics(run)[-1]
    end = lambda stage: small_checkpoint.load(stages.stage_file(run, stage))[2]
    oracle, last = end("oracle"), end("student")["networks"]
    for name, value in oracle["average"]["weights"].items():
        if name.startswith("oracle."):
            assert torch.equal(last[name], value), "what would have been shipped teaches"
    tried = subject.load(str(run))
    assert isinstance(tried.policy, StudentPolicy) and tried.camera is not None
    export([str(run)])
    there, network = OnnxPolicy(exported.read(run)), tried.policy.network
    hidden = network.initial_hidden(1)
    for _ in range(20):
        history, depth = torch.randn(1, 1, 72), 0.1 + 2.9 * torch.rand(1, 36, 36)
        with torch.no_grad():
            here, hidden = network(history, depth, hidden)
        np.testing.assert_allclose(there.act(history[0].numpy(), depth[0].numpy()), here[0], atol=1e-4)

"""PIM: its prototypes, its heights, its symmetry, and that it trains and acts like any other method."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from baseline_runs import collect, trained_twice
from toy import ToyWalker

from ssr.baselines.pim import ACTING, PIM, PIMNetworks
from ssr.baselines.prototypes import Prototypes, predicted, sinkhorn
from ssr.baselines.true_heights import NOISE, HeightSensor
from ssr.cli.export import run as export
from ssr.errors import UserError
from ssr.learning.ranks import ALONE
from ssr.robots import load
from ssr.symmetry.vectors import BASE_MAP, layouts
from ssr.vision.heightmap import base_offsets

X2 = load("x2")


def learner(config, seed=0):
    torch.manual_seed(seed)
    env = ToyWalker(num_envs=8, seed=seed)
    return env, PIM(env.robot, 8, replace(config, algorithm="pim"), ALONE)


def unit(*shape):
    return F.normalize(torch.randn(shape), dim=-1)


# ---- swapped prototypes ---------------------------------------------------------------------------------


def test_sinkhorn_assigns_every_sample_once_and_every_prototype_equally_often():
    scores = unit(640, 16) @ unit(32, 16).t()
    settled = sinkhorn(scores, rounds=200)
    torch.testing.assert_close(settled.sum(1), torch.ones(640))
    torch.testing.assert_close(settled.sum(0), torch.full((32,), 640 / 32), rtol=1e-3, atol=0)
    quick, softmax = sinkhorn(scores), torch.softmax(scores / 0.05, -1)
    torch.testing.assert_close(quick.sum(1), torch.ones(640))
    uneven = lambda shares: float((shares.sum(0) - 20).abs().max())
    assert uneven(quick) < uneven(softmax) / 3, "three rounds are most of the way"


def test_sinkhorn_survives_scores_that_are_all_alike_and_far_apart():
    assert torch.allclose(sinkhorn(torch.zeros(64, 32)), torch.tensor(1 / 32))
    assert sinkhorn(1e3 * torch.randn(64, 32)).isfinite().all()


def test_the_next_states_assignment_carries_no_gradient():
    prototypes = Prototypes(16)
    latent, target = (unit(64, 16).requires_grad_() for _ in range(2))
    seen, reached = prototypes.scores(latent), prototypes.scores(target)
    assert not sinkhorn(reached).requires_grad
    pulled, at_rest = torch.autograd.grad(
        predicted(seen, sinkhorn(reached)), (latent, target), allow_unused=True, retain_graph=True
    )
    assert pulled.abs().sum() > 0 and at_rest is None
    # The whole loss moves the next state's encoder by its own prediction of the other's assignment alone.
    whole = torch.autograd.grad(prototypes.swap(latent, target).loss, target)[0]
    own = torch.autograd.grad(-0.5 * predicted(reached, sinkhorn(seen)), target)[0]
    torch.testing.assert_close(whole, own)


def test_latents_of_the_same_moment_come_together():
    """A view and what follows it, mixed by fixed matrices: prototypes make their latents agree."""
    world, view, after = torch.randn(256, 4), torch.randn(4, 12), torch.randn(4, 12)
    heads = [torch.nn.Linear(12, 16) for _ in range(2)]
    prototypes = Prototypes(16)
    optimizer = torch.optim.Adam([p for m in (*heads, prototypes) for p in m.parameters()], 1e-2)
    losses = []
    for _ in range(200):
        prototypes.normalise_()
        one, other = (F.normalize(h(world @ v), dim=-1) for h, v in zip(heads, (view, after), strict=True))
        swap = prototypes.swap(one, other)
        optimizer.zero_grad()
        swap.loss.backward()
        optimizer.step()
        losses.append(float(swap.loss.detach()))
    same = (
        sinkhorn(prototypes.scores(one)).argmax(-1) == sinkhorn(prototypes.scores(other)).argmax(-1)
    ).float()
    assert losses[-1] < losses[0] - 0.05 and same.mean() > 0.5, "1/32 by chance"
    assert swap.used > 16, "and not all to one"


# ---- heights --------------------------------------------------------------------------------------------


def test_it_sees_the_true_heights_in_a_grid_about_the_robot_within_three_centimetres():
    layout = layouts(X2).privileged
    state = torch.zeros(3, layout.size)
    x, y = torch.from_numpy(base_offsets()).unbind(-1)
    state[:, layout.slice("base_height_map")] = 5.0 * (x + 0.01 * y)  # the segment's scale
    sensor = HeightSensor(layout)
    grid = sensor.true(state)[0].view(12, 8) / 5.0
    rows, columns = torch.linspace(-0.5, 0.6, 12), torch.linspace(-0.35, 0.35, 8)
    torch.testing.assert_close(grid, rows[:, None] + 0.01 * columns, atol=1e-6, rtol=0)
    error = (sensor.noisy(state.expand(400, -1, -1).flatten(0, 1)) / 5.0 - grid.flatten()).abs()
    assert 0.99 * NOISE < error.max() <= NOISE + 1e-6 and abs(error.mean() - NOISE / 2) < 1e-3
    mirrored = sensor.true(layout.mirror(state))
    torch.testing.assert_close(sensor.mirror(sensor.true(state)), mirrored)
    assert not torch.equal(mirrored, sensor.true(state)) and BASE_MAP == (18, 10)


def test_noise_on_heights_begins_anew_with_every_set_of_trials(tiny):
    env, algorithm = learner(tiny)
    observation, actor = env.reset(), algorithm.policy().actor()
    said = []
    for _ in range(2):
        actor.begin(8)
        said.append(torch.stack([actor.act(observation) for _ in range(3)]))
    assert torch.equal(said[0], said[1]) and not torch.equal(said[0][0], said[0][1])


# ---- learning -------------------------------------------------------------------------------------------


def test_no_gradient_of_the_policy_enters_the_model_and_none_of_the_model_the_policy(tiny):
    env, algorithm = learner(tiny)
    for frozen, learned in ((("encoder", "target", "prototypes"), ("actor", "critics")),
                            (("actor", "critics"), ("encoder", "target", "prototypes"))):  # fmt: skip
        collect(env, algorithm)
        before = {k: v.clone() for k, v in algorithm.networks.state_dict().items()}
        algorithm.freeze(frozen)  # nothing is spent on them, so that any gradient of theirs is the others'
        for parameter in algorithm.networks.parameters():
            parameter.grad.zero_()
        algorithm.update(0.0)
        after = algorithm.networks.state_dict()
        changed = {name.split(".")[0] for name, value in after.items() if not value.equal(before[name])}
        assert changed == set(learned)
        gradients = {n for n, p in algorithm.networks.named_parameters() if bool(p.grad.any())}
        assert not [name for name in gradients if name.startswith(frozen)]


def test_the_velocity_is_learned(tiny):
    env, algorithm = learner(replace(tiny, encoder=replace(tiny.encoder, learning_rate=3e-3)))
    errors, observation = [], None
    for _ in range(16):
        observation = collect(env, algorithm, observation)
        errors.append(algorithm.update(0.0)["pim/velocity"])
    assert sum(errors[-4:]) < 0.5 * sum(errors[:4])


def test_policy_and_value_are_drawn_to_be_the_same_in_the_mirror(tiny):
    env, algorithm = learner(tiny)
    mean, value, weight = torch.randn(4, 21), torch.randn(4), torch.full((4,), 0.25)
    mirrored = torch.stack((mean, algorithm.vectors.action.mirror(mean)))
    loss = algorithm._mirror_loss
    assert float(loss(mirrored, torch.stack((value, value)), weight)) == 0.0
    assert float(loss(torch.stack((mean, mean)), torch.stack((value, value)), weight)) > 0.1
    assert float(loss(mirrored, torch.stack((value, value + 1)), weight)) == pytest.approx(1.0)
    collect(env, algorithm)
    rollout = algorithm.rollout
    history = algorithm.vectors.proprioception.mirror(rollout.history.window(5))
    again = algorithm.networks.observe(history, algorithm.sensor.mirror(algorithm.heights[5]))
    torch.testing.assert_close(rollout.actor_mirrored[5], again)


def test_waist_and_arms_come_in_while_a_run_is_young(tiny):
    env, algorithm = learner(tiny)
    roles = [joint.role for joint in env.robot.joints]
    done = []
    for progress in (0.0, 0.1, 0.3, 0.0):
        collect(env, algorithm)
        done.append(algorithm.networks.done(torch.ones(21)))
        algorithm.update(progress)
    legs = torch.tensor([any(word in role for word in ("hip", "knee", "ankle")) for role in roles])
    assert 12 <= legs.sum() < 21
    assert all(torch.equal(share[legs], torch.ones(int(legs.sum()))) for share in done)
    assert [float(share[~legs].max()) for share in done] == [0.0, 0.0, 0.5, 1.0], "and stay in"


def test_the_papers_widths():
    from ssr.learning import recipe

    config = recipe.read(recipe.text_of("pim"), "pim").stages[0].config
    networks = PIMNetworks(X2, config)
    shapes = lambda module: [p.shape[0] for n, p in module.named_parameters() if n.endswith("weight")]
    assert (
        shapes(networks.encoder) == [256, 256, 19] and networks.encoder.layers[0].in_features == 6 * 72 + 96
    )
    assert shapes(networks.actor) == [512, 256, 128, 21] and networks.observation_size == 187
    assert networks.prototypes.directions.shape == (32, 16) and set(ACTING) < set(
        dict(networks.named_children())
    )


def test_it_is_trained_resumed_bit_for_bit_evaluated_and_not_exported(tmp_path):
    run = trained_twice(tmp_path, "pim", ["--task.history", "6"])
    with pytest.raises(UserError, match="true heights") as caught:
        export([str(run)])
    assert "\n" not in str(caught.value)

"""When a number goes bad, training stops before it spreads and says where it began."""

import pytest
import torch
from safetensors.torch import load_file
from test_ppo import collect, learner

from ssr.learning import guard
from ssr.learning.optimizer import NonFiniteGradient


def test_the_first_bad_tensor_is_named_and_the_batch_kept(tiny, tmp_path):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    algorithm.rollout.privileged[5, 2, 100] = torch.nan
    before = algorithm.ppo.optimizer.values.clone()
    with pytest.raises(NonFiniteGradient):
        algorithm.update(0.0)
    assert torch.equal(before, algorithm.ppo.optimizer.values), "the weights are untouched"
    error = guard.report(algorithm, tmp_path, 12, 0)
    assert "iteration 12" in str(error) and "rollout.privileged at index [5, 2, 100], 1 of" in str(error)
    assert "\n" not in str(error)
    kept = load_file(next(tmp_path.glob("bad_iteration_000012_rank0.safetensors")))
    assert kept["rollout.privileged"][5, 2, 100].isnan() and "rollout.action" in kept


def test_upstream_is_named_before_downstream(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    assert guard.first_bad(algorithm) is None
    algorithm.rollout.rewards["locomotion"][0, 0] = torch.inf
    assert guard.first_bad(algorithm)[0] == "rollout.reward.locomotion"
    algorithm.rollout.camera.images[3, 4, 5] = torch.nan
    assert guard.first_bad(algorithm)[0] == "rollout.depth"

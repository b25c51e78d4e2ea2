"""The imagination model learns where feet come down, and is believed only once it does."""

import torch
from toy import ToyWalker

from ssr.learning.config import ImaginationConfig, OptimizerConfig
from ssr.learning.footsteps import FootstepRecorder, Labels
from ssr.learning.imagination import Imagination, LabelBuffer, negative_log_likelihood
from ssr.networks.config import NetworkConfig
from ssr.networks.imagination import FootholdImagination


def test_likelihood_is_that_of_the_gaussian():
    mean, std, target = torch.randn(7, 2), 0.05 + torch.rand(7), torch.randn(7, 2)
    exact = -torch.distributions.Normal(mean, std.unsqueeze(1)).log_prob(target).sum(-1)
    ours = negative_log_likelihood(mean, std, target)
    constant = exact - ours
    torch.testing.assert_close(constant, constant[:1].expand(7), atol=1e-4, rtol=1e-4)


def labels(values):
    x = torch.tensor(values, dtype=torch.float32)
    return Labels(
        input=x.unsqueeze(1).repeat(1, 3), foot=torch.zeros(len(x), dtype=torch.long), target=x.repeat(2, 1).T
    )


def test_buffer_keeps_the_newest():
    buffer = LabelBuffer(4, 3)
    buffer.put(labels([1.0, 2.0, 3.0]))
    buffer.put(labels([4.0, 5.0]))
    assert sorted(buffer.input[:, 0].tolist()) == [2.0, 3.0, 4.0, 5.0]
    buffer.put(labels([float(k) for k in range(10, 20)]))
    assert sorted(buffer.input[:, 0].tolist()) == [16.0, 17.0, 18.0, 19.0]
    other = LabelBuffer(4, 3)
    other.load_state_dict(buffer.state_dict())
    for memory in (buffer, other):
        memory.put(labels([20.0]))
    assert torch.equal(buffer.input, other.input) and buffer.seen == other.seen == 16


def test_error_falls_below_ten_centimetres_on_a_walk():
    """Measured on labels before they are trained on; the gate opens with samples and accuracy, not before."""
    env = ToyWalker(num_envs=16, episode=200)
    config = ImaginationConfig(capacity=4000, batch_size=512, gate_samples=3000, gate_rmse=0.10)
    model = FootholdImagination(375, 21, NetworkConfig.cpu())
    imagination = Imagination(
        model, state_size=375, action_size=21, config=config, optimizer=OptimizerConfig(learning_rate=2e-3)
    )
    recorder = FootstepRecorder(num_envs=16, input_size=396, steps=24)
    env.reset()
    errors, gates = [], []
    drive = 0.8 * torch.randn(16, 21)
    for _ in range(22):
        for _ in range(24):
            state = env.privileged(env.facts())
            action = drive + 0.1 * torch.randn(16, 21)
            transition = env.step(action)
            recorder.observe(state, action, transition)
            env.restart(transition.ended)
        imagination.put(recorder.labels())
        metrics = imagination.update()
        errors.append(metrics["foothold_rmse"])
        gates.append((imagination.trusted, metrics["imagination_samples"], imagination.rmse))
    assert errors[0] > 0.10 > errors[-1]
    for trusted, samples, rmse in gates:
        assert trusted.tolist() == [samples >= 3000 and error < 0.10 for error in rmse.tolist()]
    assert gates[-1][0].any() and not gates[0][0].any(), "each terrain type by its own error"

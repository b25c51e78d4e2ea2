"""Weights put together once give what they give one by one, and learn again when released."""

import torch

from ssr.networks.assembly import assemble, release
from ssr.networks.build import Networks
from ssr.networks.config import NetworkConfig
from ssr.robots import load


def test_assembled_layers_give_the_same_and_learn_again_when_released():
    torch.manual_seed(0)
    encoder = Networks(load("x2"), NetworkConfig.cpu()).encoder.eval()
    history, images = torch.randn(6, 5, 72), torch.rand(6, 36, 36)
    hidden = torch.randn(6, encoder.hidden_size)

    def latent() -> torch.Tensor:
        latents, after = encoder.step(history, encoder.encode_images(images), hidden)
        return torch.cat((latents.vector, after), -1)

    before = latent()
    assemble(encoder)
    assert torch.equal(latent(), before)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.mul_(1.1)
    release(encoder)
    after = latent()
    assert not torch.equal(after, before)
    assemble(encoder)
    assert torch.equal(latent(), after), "assembling again takes the weights as they are now"
    release(encoder)
    latent().sum().backward()
    assert all(p.grad is not None for p in encoder.image.parameters())

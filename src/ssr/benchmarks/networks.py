"""What equivariance costs: the encoder of Table 8 against a plain encoder of the same widths.

One measurement is one control step of the whole encoder for a batch of robots: every depth image through the
CNN, the history through its MLP, GRU, fusion and heads; weights are assembled anew each time, as in training.
`forward` runs without gradients; `forward_backward` adds a backward pass to every weight. Equivariant and
plain runs alternate in short blocks, so that what else the machine does falls on both alike. Each ratio is
equivariant time / plain time, the median over pairs of neighbouring blocks, the larger of both batch sizes.
With one thread the clock is the processor time of this process, which stands while others have the core;
with several it is the wall clock, since threads that wait for each other burn processor time too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import perf_counter, process_time
from typing import Annotated, Literal

import torch

from ssr.errors import UserError
from ssr.networks.config import NetworkConfig
from ssr.networks.encoder import CrossModalEncoder
from ssr.ranges import Within, checked
from ssr.robots import load
from ssr.symmetry.vectors import layouts

BATCHES = (256, 1536)  #: a rollout of 256 worlds; a minibatch of 64 worlds × 24 steps
FEWEST = 3  #: pairs, however short the time


@checked
def run(
    widths: Literal["paper", "cpu"] = "paper",
    threads: Annotated[int, Within(1, 1024)] = 1,
    pairs: Annotated[int, Within(1, 100_000)] = 40,
    seconds: Annotated[float, Within(0.1, 1e6)] = 60.0,
) -> dict[str, object]:
    """Time the equivariant encoder against a plain one of the same widths.

    Args:
        widths: Which widths to measure.
        threads: CPU threads. On a busy machine two threads mostly time how they wait for each other.
        pairs: Pairs of blocks per measurement.
        seconds: Stop measuring after about this long, spread over all measurements.
    """
    if pairs < FEWEST or seconds <= 0 or threads < 1:
        raise UserError(
            f"Need at least {FEWEST} pairs, 1 thread and some seconds, got {pairs}, {threads} and {seconds}."
        )
    torch.set_num_threads(threads)
    config = {"paper": NetworkConfig(), "cpu": NetworkConfig.cpu()}[widths]
    plain, equivariant = (_encoder(replace(config, equivariant=e)) for e in (False, True))
    result: dict[str, object] = {"widths": widths, "threads": torch.get_num_threads()}
    worst: dict[str, float] = {}
    for name, work in (("forward", _forward), ("forward_backward", _forward_backward)):
        for batch in BATCHES:
            inputs = _inputs(config, batch)
            ratio, milliseconds = _compare(
                lambda work=work, inputs=inputs: work(equivariant, *inputs),  # type: ignore[misc]
                lambda work=work, inputs=inputs: work(plain, *inputs),  # type: ignore[misc]
                pairs,
                seconds / (2 * len(BATCHES)),
            )
            result[f"{name}_{batch}_ratio"] = round(ratio, 4)
            result[f"{name}_{batch}_ms"] = round(milliseconds, 3)
            worst[name] = max(worst.get(name, 0.0), ratio)
            print(f"{name:>16} {batch:>5} robots: {milliseconds:8.2f} ms, ratio {ratio:.3f}", file=sys.stderr)
    result["forward_ratio"] = round(worst["forward"], 4)
    result["forward_backward_ratio"] = round(worst["forward_backward"], 4)
    result["ratio"] = round(max(worst.values()), 4)
    return result


def _encoder(config: NetworkConfig) -> CrossModalEncoder:
    robot = load("x2")
    torch.manual_seed(0)
    return CrossModalEncoder(layouts(robot).proprioception, robot.joint_names, config)


Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _inputs(config: NetworkConfig, batch: int) -> Inputs:
    size = layouts(load("x2")).proprioception.size
    return (
        torch.randn(batch, config.history, size),
        torch.rand(batch, *config.image_size) * 3.0,
        torch.randn(batch, config.gru_hidden),
    )


def _forward(
    encoder: CrossModalEncoder, history: torch.Tensor, depth: torch.Tensor, hidden: torch.Tensor
) -> None:
    with torch.no_grad():
        encoder.step(history, encoder.encode_images(depth), hidden)


def _forward_backward(
    encoder: CrossModalEncoder, history: torch.Tensor, depth: torch.Tensor, hidden: torch.Tensor
) -> None:
    latents, _ = encoder.step(history, encoder.encode_images(depth), hidden)
    (latents.vector.sum() + latents.log_variance.sum()).backward()
    encoder.zero_grad()


def _compare(
    measured: Callable[[], None], reference: Callable[[], None], pairs: int, seconds: float
) -> tuple[float, float]:
    """Median ratio over pairs of neighbouring blocks, and the median time of one `measured` call in ms."""
    calls = max(1, round(0.02 / min(_time(reference, 1) for _ in range(3))))  # blocks of about 20 ms
    for work in (measured, reference):
        _time(work, calls)
    ratios, times = [], []
    start = perf_counter()
    for pair in range(pairs):
        # Who goes first alternates too, so that a machine that slows down favours neither.
        if pair % 2:
            b, a = _time(reference, calls), _time(measured, calls)
        else:
            a, b = _time(measured, calls), _time(reference, calls)
        ratios.append(a / b)
        times.append(a / calls)
        if len(ratios) >= FEWEST and perf_counter() - start > seconds:
            break
    return median(ratios), 1000.0 * median(times)


def _time(work: Callable[[], None], calls: int) -> float:
    clock = process_time if torch.get_num_threads() == 1 else perf_counter
    start = clock()
    for _ in range(calls):
        work()
    return clock() - start

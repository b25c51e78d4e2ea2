"""Starting the ranks: by itself on one machine, or under torchrun on several."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from ssr.errors import UserError
from ssr.learning.config import TrainConfig
from ssr.learning.ranks import Ranks

LOCAL = "127.0.0.1"
PATIENCE = timedelta(minutes=30)  #: for a peer, e.g. while it writes a checkpoint


def device_of(config: TrainConfig) -> str:
    if config.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if config.device not in ("cpu", "cuda"):
        raise UserError(f"Unknown device: {config.device!r}. Known: auto, cpu, cuda.")
    if config.device == "cuda" and not torch.cuda.is_available():
        raise UserError("No CUDA device found. Use --device cpu, or see `ssr doctor`.")
    return config.device


def rank_count(config: TrainConfig) -> int:
    """One rank per core or GPU unless the configuration says otherwise."""
    if config.ranks < 0:
        raise UserError(f"--ranks {config.ranks}: give the number of processes, or 0 for one per core or GPU.")
    if config.ranks:
        return config.ranks
    if device_of(config) == "cuda":
        return torch.cuda.device_count()
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores // config.env.threads, config.env.num_envs))


def under_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ or {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys()


def _backend(device: str) -> str:
    return "nccl" if device == "cuda" else "gloo"


def _enter(rank: int, size: int, port: int, device: str, threads: int) -> Ranks:
    """Join the local group; every reduction goes over the loopback interface."""
    torch.set_num_threads(threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = dist.TCPStore(LOCAL, port, size, is_master=False)
    dist.init_process_group(_backend(device), store=store, rank=rank, world_size=size, timeout=PATIENCE)
    return Ranks(rank=rank, size=size)


def _child(rank: int, size: int, port: int, device: str, threads: int, work: Callable[..., Any], *arguments: Any):
    ranks = _enter(rank, size, port, device, threads)
    try:
        work(ranks, *arguments)
    except (UserError, RuntimeError, KeyboardInterrupt):
        # The first rank tells the user; when it is gone there is nothing left to say.
        os._exit(1)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def launch(config: TrainConfig, work: Callable[..., Any], *arguments: Any) -> Any:
    """Run `work(ranks, *arguments)` on every rank; returns what the first one returns."""
    device, threads = device_of(config), config.env.threads
    torch.set_num_threads(threads)
    if under_torchrun():
        dist.init_process_group(_backend(device), timeout=PATIENCE)
        try:
            return work(Ranks(rank=dist.get_rank(), size=dist.get_world_size()), *arguments)
        finally:
            dist.destroy_process_group()
    size = rank_count(config)
    if size == 1:
        return work(Ranks(), *arguments)
    store = dist.TCPStore(LOCAL, 0, size, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("spawn")
    children = [
        context.Process(
            target=_child, args=(rank, size, store.port, device, threads, work, *arguments), daemon=True
        )
        for rank in range(1, size)
    ]
    for child in children:
        child.start()
    try:
        return work(_enter(0, size, store.port, device, threads), *arguments)
    finally:
        for child in children:
            child.join(timeout=5)
            if child.is_alive():
                child.terminate()
        if dist.is_initialized():
            dist.destroy_process_group()

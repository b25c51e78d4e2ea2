"""Starting the ranks: by itself on one machine, or under torchrun on several."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import re
import signal
import threading
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import torch
import torch.distributed as dist

from ssr.errors import UserError, of_the_system
from ssr.learning.config import TrainConfig
from ssr.learning.ranks import Ranks
from ssr.machine import cores
from ssr.task.first_time import compile_kernels

LOCAL = "127.0.0.1"
PATIENCE = timedelta(minutes=30)  #: for a peer, e.g. while it writes a checkpoint


def device_of(config: TrainConfig) -> str:
    """The device of this rank. A GPU has its number: Warp finds none without it."""
    if config.device == "auto":
        return own_gpu() if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", config.device):
        raise UserError(f"Unknown device: {config.device!r}. Known: auto, cpu, cuda, cuda:0, cuda:1, …")
    if config.device == "cpu":
        return config.device
    if not torch.cuda.is_available():
        raise UserError("No CUDA device found. Use --device cpu, or see `ssr doctor`.")
    if config.device == "cuda":
        return own_gpu()
    if torch.device(config.device).index >= torch.cuda.device_count():
        raise UserError(f"No device {config.device}: this machine has {torch.cuda.device_count()} of them.")
    return config.device


def own_gpu() -> str:
    return f"cuda:{torch.cuda.current_device()}"


def _on_gpu(device: str) -> bool:
    return torch.device(device).type == "cuda"


def rank_count(config: TrainConfig) -> int:
    """One rank per core or GPU unless the configuration says otherwise."""
    if under_torchrun():
        return int(os.environ["WORLD_SIZE"])
    on_gpu = _on_gpu(device_of(config))
    gpus = torch.cuda.device_count() if config.device in ("auto", "cuda") else 1
    if on_gpu and config.ranks > gpus:
        raise UserError(f"--ranks {config.ranks}: each needs a GPU of its own, and there are {gpus}.")
    if config.ranks:
        return config.ranks
    if on_gpu:
        return gpus
    return max(1, min(cores() // config.env.threads, config.env.num_envs))


def under_torchrun() -> bool:
    return {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys()


def starts_the_run() -> bool:
    """Whether this process makes the run's directory: under torchrun only the first rank does."""
    return not under_torchrun() or os.environ["RANK"] == "0"


def _take_gpu(device: str, local_rank: int) -> None:
    if _on_gpu(device):
        torch.cuda.set_device(local_rank)


def _backend(device: str) -> str:
    return "cpu:gloo,cuda:nccl" if _on_gpu(device) else "gloo"


def _stop_with_parent() -> None:
    """A rank never outlives the process that started it, however that one ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _child(
    rank: int,
    size: int,
    port: int,
    device: str,
    threads: int,
    tell: Connection,
    work: Callable[..., Any],
    *rest: Any,
) -> None:
    """The life of one rank: join the local group over the loopback interface, work, tell how it ended."""
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        _take_gpu(device, rank)
        store = dist.TCPStore(LOCAL, port, size + 1, is_master=False, timeout=PATIENCE)
        dist.init_process_group(_backend(device), store=store, rank=rank, world_size=size, timeout=PATIENCE)
        result = work(Ranks(rank=rank, size=size), *rest)
        dist.destroy_process_group()
        tell.send((None, result))
    except UserError as error:
        tell.send((str(error), None))
    except OSError as error:
        tell.send((of_the_system(error), None))
    except KeyboardInterrupt:
        tell.send(("Interrupted.", None))
    except Exception:
        tell.send((traceback.format_exc(), None))
        os._exit(1)


def _of_a_peer(error: RuntimeError) -> bool:
    """Whether it is about a connection to another rank."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)


def launch(config: TrainConfig, work: Callable[..., Any], *arguments: Any) -> Any:
    """Run `work(ranks, *arguments)` on every rank, wait for all of them and give what the first returned.

    Under torchrun each rank is a process that called this itself, and gets what its own work returned. The
    group it joins there lasts as long as the process: a second one cannot be made.
    """
    device, threads = device_of(config), config.env.threads
    torch.set_num_threads(threads)
    if under_torchrun():
        _take_gpu(device, int(os.environ.get("LOCAL_RANK", "0")))
        if not dist.is_initialized():
            dist.init_process_group(_backend(device), timeout=PATIENCE)
            atexit.register(dist.destroy_process_group)
        try:
            return work(Ranks(rank=dist.get_rank(), size=dist.get_world_size()), *arguments)
        except RuntimeError as error:
            if not _of_a_peer(error):
                raise
            # Leaving a broken group waits for who is gone.
            atexit.unregister(dist.destroy_process_group)
            atexit.register(os._exit, 1)
            raise UserError(
                "Another rank has ended, so this one does too; what it said stands above, or on its machine. "
                "Go on from the newest checkpoint: `ssr train --resume RUN` with as many ranks."
            ) from error
    size = rank_count(config)
    compile_kernels()
    if size == 1:
        return work(Ranks(), *arguments)
    store = dist.TCPStore(LOCAL, 0, size + 1, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("spawn")
    listen, children = [], []
    for rank in range(size):
        ear, mouth = context.Pipe(duplex=False)
        child = context.Process(
            target=_child,
            args=(rank, size, store.port, device, threads, mouth, work, *arguments),
            daemon=True,
        )
        child.start()
        mouth.close()
        listen.append(ear)
        children.append(child)

    def pass_on(number: int, frame: object) -> None:
        for child in children:
            child.terminate()

    # A terminal's Ctrl-C reaches the ranks by itself; a polite kill reaches only this process.
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    terminated = signal.signal(signal.SIGTERM, pass_on)
    try:
        return _supervise(listen, children)
    finally:
        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, terminated)


def _supervise(listen: list[Connection], children: list[SpawnProcess]) -> Any:
    """Wait for every rank; the first that fails ends all, and its reason is the error."""
    results: dict[Connection, Any] = {}
    waiting = dict(zip(listen, children, strict=True))
    while waiting:
        for ear in wait(list(waiting)):
            assert isinstance(ear, Connection)
            child = waiting.pop(ear)
            try:
                reason, results[ear] = ear.recv()
            except EOFError:
                child.join()
                reason = f"A rank was ended from outside (exit code {child.exitcode})."
            if reason is not None:
                for other in children:
                    other.kill()
                raise UserError(reason) if "\n" not in reason else RuntimeError(reason)
    for child in children:
        child.join()
    return results[listen[0]]

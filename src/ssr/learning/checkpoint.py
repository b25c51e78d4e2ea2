"""Full checkpoints: everything a run needs to go on bit for bit. Atomic, checksummed, loading runs no code.

A checkpoint is a directory `checkpoints/<iteration>` with one safetensors file per rank and a `state.json`
that holds their SHA-256 sums; the directory appears under its name only when it is complete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EIO
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from ssr.errors import UserError
from ssr.files import DAMAGED, digest, with_seal, without_seal, write_json
from ssr.learning.packing import pack, unpack, write_tensors
from ssr.learning.ranks import ALONE, Ranks

FORMAT = 13
STATE = "state.json"


def _rank_files(rank: int) -> tuple[str, str]:
    return f"rank{rank}.safetensors", f"rank{rank}.json"


def save(run: Path, iteration: int, state: Any, *, kept: int = 2, ranks: Ranks = ALONE) -> Path:
    """Write the state of every rank as checkpoint `iteration` of `run`; older ones beyond `kept` go."""
    folder = run / "checkpoints"
    final, partial = folder / f"{iteration:06d}", folder / f".{iteration:06d}.partial"
    with together(ranks, partial):
        if ranks.first:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
    with together(ranks, partial):
        skeleton, tensors = pack(state)
        tensor_name, skeleton_name = _rank_files(ranks.rank)
        write_tensors(partial / tensor_name, tensors)
        write_json(partial / skeleton_name, skeleton)
    with together(ranks, partial):
        if ranks.first:
            _complete(partial, final, iteration, ranks)
            for old in checkpoints(run)[:-kept]:
                remove(old)
    return final


@contextmanager
def together(ranks: Ranks, partial: Path | None = None) -> Iterator[None]:
    """A part of saving that all ranks have done or, if it fails on one of them, none; `partial` goes then."""
    failure = None
    try:
        yield
    except OSError as error:
        failure = error
    if not ranks.any(failure is not None):
        return
    if ranks.first and partial is not None:
        shutil.rmtree(partial, ignore_errors=True)
    raise failure or OSError(EIO, "another rank could not write")


def _complete(partial: Path, final: Path, iteration: int, ranks: Ranks) -> None:
    """Seal what all ranks have written, and give it its name."""
    names = [name for rank in range(ranks.size) for name in _rank_files(rank)]
    content = {
        "format": FORMAT,
        "iteration": iteration,
        "ranks": ranks.size,
        "files": {name: digest(partial / name) for name in names},
    }
    write_json(partial / STATE, with_seal(content))
    replaced = final.with_name(f".{final.name}.replaced")
    shutil.rmtree(replaced, ignore_errors=True)
    if final.exists():  # moved aside first, so that a complete one is always a rename away
        os.replace(final, replaced)
    os.replace(partial, final)
    shutil.rmtree(replaced, ignore_errors=True)


def remove(checkpoint: Path) -> None:
    """Out of sight first: what is left by a kill half-way must not look like one, nor stay for ever."""
    hidden = checkpoint.with_name(f".{checkpoint.name}.removed")
    shutil.rmtree(hidden, ignore_errors=True)
    with suppress(OSError):
        os.replace(checkpoint, hidden)
    shutil.rmtree(hidden, ignore_errors=True)


def checkpoints(run: Path) -> list[Path]:
    """Complete checkpoints of a run, oldest first."""
    return sorted(p.parent for p in (run / "checkpoints").glob(f"[0-9]*/{STATE}"))


def choose(run: Path, iteration: int | None = None) -> Path:
    """The newest checkpoint of a run, or the one asked for."""
    found = checkpoints(run)
    if not found:
        raise UserError(
            f"{run} holds no checkpoint: nothing was saved to go on from. Remove it and start it again."
        )
    if iteration is None:
        return found[-1]
    for path in found:
        if int(path.name) == iteration:
            return path
    known = ", ".join(str(int(p.name)) for p in found)
    raise UserError(f"{run} holds no checkpoint of iteration {iteration}. It holds: {known}.")


def load(checkpoint: Path, ranks: Ranks = ALONE) -> tuple[int, Any]:
    """Iteration and state of this rank. A damaged checkpoint is refused and the one before it offered."""
    try:
        content = without_seal((checkpoint / STATE).read_text(), required=True)
        sums, iteration, size = content["files"], int(content["iteration"]), int(content["ranks"])
        if content["format"] != FORMAT:
            raise UserError(
                f"{checkpoint} has format {content['format']}, this version reads {FORMAT}. "
                "Use the version of ssr that wrote it."
            )
    except DAMAGED as error:
        raise _damaged(checkpoint, f"its {STATE} was truncated or altered") from error
    if size != ranks.size:
        raise UserError(f"{checkpoint} was written by {size} ranks, not {ranks.size}. Go on with as many.")
    tensor_name, skeleton_name = _rank_files(ranks.rank)
    for name in (tensor_name, skeleton_name):
        path = checkpoint / name
        if not path.is_file():
            raise _damaged(checkpoint, f"{name} is missing")
        if digest(path) != sums.get(name):
            raise _damaged(checkpoint, f"{name} was truncated or altered (its checksum differs)")
    try:
        tensors = load_file(str(checkpoint / tensor_name))
        return iteration, unpack(json.loads((checkpoint / skeleton_name).read_text()), tensors)
    except (SafetensorError, *DAMAGED) as error:
        raise _damaged(checkpoint, "its contents do not fit together") from error


def _damaged(checkpoint: Path, why: str) -> UserError:
    run = checkpoint.parent.parent
    earlier = [p for p in checkpoints(run) if p.name < checkpoint.name]
    advice = (
        f"The one before it: `ssr train --resume {run} --iteration {int(earlier[-1].name)}`."
        if earlier
        else "There is no earlier one; `ssr train --continue` takes a small checkpoint."
    )
    return UserError(f"Checkpoint {checkpoint} is damaged: {why}. {advice}")

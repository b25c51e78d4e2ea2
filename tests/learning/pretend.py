"""A pretend accelerator: tensors that say they live on `pretend:0`, hold real values, refuse to meet those of
the CPU, and count what would cross between host and device or make one wait for the other.

    with Pretend() as accelerator:
        ...
    accelerator.counts["to host"]

`bridged()` lets Warp's kernels work on them, through `ssr.bridge` alone, and gives the device generators of
its own.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

aten = torch.ops.aten


class _Backend:
    """What PyTorch asks of the module of a device."""

    is_initialized = is_available = staticmethod(lambda: True)
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 1)
    _is_in_bad_fork = staticmethod(lambda: False)
    manual_seed_all = staticmethod(lambda seed: None)
    get_amp_supported_dtype = staticmethod(lambda: [torch.bfloat16, torch.float16])


_setup_privateuseone_for_python_backend("pretend", backend_module=_Backend())
DEVICE = torch.device("pretend:0")
CROSSINGS = ("to host", "to device", "wait")  #: what is counted

INDEXING = (
    aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default,
    aten._unsafe_index.Tensor,
)  # fmt: skip
#: The host must know their result, or the size of it, before it can go on.
WAITING = (
    aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default,
    aten.repeat_interleave.Tensor, aten.is_nonzero.default, aten._unique2.default, aten.bincount.default,
    aten._linalg_check_errors.default, aten.equal.default,
)  # fmt: skip
COPYING = (aten._to_copy.default, aten.copy_.default)
RESHAPING = ("squeeze_", "unsqueeze_", "t_", "transpose_", "resize_", "swapaxes_")


class Mixed(RuntimeError):
    """Tensors of host and device met."""


class OnDevice(torch.Tensor):
    """A tensor over there; `inner` holds its values."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> OnDevice:
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device=DEVICE,
        )  # fmt: skip
        made.inner = inner
        return made

    def __init__(self, inner: torch.Tensor) -> None: ...

    def __repr__(self, **kwargs: Any) -> str:
        return f"OnDevice({self.inner})"

    def numpy(self, **kwargs: Any) -> Any:
        raise Mixed(f"an array over a tensor of the device, {_place()}")

    @property
    def data(self) -> torch.Tensor:
        return torch.Tensor.data.__get__(self)

    @data.setter
    def data(self, other: OnDevice) -> None:
        self.inner = other.detach().inner  # type: ignore[attr-defined]
        torch.Tensor.data.__set__(self, other)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {}, Counter())


def _place() -> str:
    """Which line of the project this is about."""
    for frame in reversed(traceback.extract_stack()):
        if "/ssr/" in frame.filename and "/tests/" not in frame.filename:
            return f"{frame.filename.split('/ssr/')[-1]}:{frame.lineno}"
    return "elsewhere"


def _is_fetched() -> bool:
    """Whether this happens in the one function that brings numbers to the host."""
    return any(
        frame.name == "fetched" and frame.filename.endswith("learning/devices.py")
        for frame in traceback.extract_stack(limit=40)
    )


def _is_there(x: object) -> bool:
    return isinstance(x, OnDevice)


def _there(device: object) -> bool:
    return torch.device(device).type == DEVICE.type  # type: ignore[arg-type]


def _run(func: Any, args: Any, kwargs: dict[str, Any], counts: Counter[str], strict: bool = False) -> Any:
    """One operation, on the values, with a look at where its tensors are."""
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    there = [x for x in tensors if _is_there(x)]
    here = [x for x in tensors if not _is_there(x) and x.ndim > 0]
    device = kwargs.get("device")
    result_there = bool(there) if device is None else _there(device)
    if func in COPYING:
        source, target = (bool(there), result_there)
        if func is aten.copy_.default:
            source, target = _is_there(args[1]), _is_there(args[0])
            result_there = target
        if source != target and (device is not None or func is aten.copy_.default):
            if strict and source and not _is_fetched():
                raise Mixed(f"a copy to the host that `fetched` did not make, {_place()}")
            _count(counts, "to device" if target else "to host")
    elif there and here:
        indices = {id(x) for x in args[1] if isinstance(x, torch.Tensor)} if func in INDEXING else set()
        if indices and _is_there(args[0]) and all(id(x) in indices for x in here):
            _count(counts, "to device")  # CUDA takes indices of the host, at the price of a copy
        else:
            shapes = [[tuple(x.shape) for x in side] for side in (there, here)]
            raise Mixed(f"{func}: {shapes[0]} of the device with {shapes[1]} of the host, {_place()}")
    masks = func in INDEXING and any(
        isinstance(i, torch.Tensor) and i.dtype == torch.bool and _is_there(i) for i in args[1]
    )
    asked = masks and (func is aten.index.Tensor or args[2].numel() > 1)  # one value fills without asking
    if there and (func in WAITING or asked):
        _count(counts, "wait")
    if there and func.__name__.split(".")[0] in RESHAPING:
        raise NotImplementedError(f"{func}, {_place()}")
    plain_args, plain = tree_map(lambda x: x.inner if _is_there(x) else x, (args, kwargs))
    if device is not None:
        plain["device"] = torch.device("cpu")
    if plain.get("pin_memory"):
        plain["pin_memory"] = False
    out = func(*plain_args, **plain)
    if func is aten._to_copy.default and not result_there:
        return out
    written = [
        args[i] if i < len(args) else kwargs.get(argument.name)
        for i, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    if written and len(func._schema.returns) == len(written) and not isinstance(out, list):
        return written[0] if len(written) == 1 else tuple(written)
    if not result_there:
        return out
    return tree_map(lambda x: OnDevice(x) if isinstance(x, torch.Tensor) and not _is_there(x) else x, out)


def _count(counts: Counter[str], what: str) -> None:
    counts[what] += 1
    counts[f"{what} {_place()}"] += 1


class Pretend(TorchDispatchMode):
    """While it is on, the device exists. counts: `to host`, `to device` and `wait`, also by place. strict:
    nothing but `ssr.learning.devices.fetched` may copy to the host."""

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__()
        self.strict = strict
        self.counts: Counter[str] = Counter()
        self._making = _Making(self.counts)

    def __enter__(self) -> Pretend:
        self._making.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._making.__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {}, self.counts, self.strict)


class _Making(TorchFunctionMode):
    """What reaches no operator that could be looked at."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts = counts

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if (generator := kwargs.get("generator")) is not None:
            drawn = _there(device) if device is not None else any(map(_is_there, args))
            if drawn != _there(generator.device):
                raise Mixed(f"{func}: a generator of {generator.device}, not of where it draws, {_place()}")
        if func in (torch.tensor, torch.as_tensor) and device is not None and _there(device):
            kwargs.pop("device")
            if _is_there(args[0]):
                return args[0].to(kwargs["dtype"]) if kwargs.get("dtype") else args[0]
            return func(*args, **kwargs).to(DEVICE)
        if func is torch.Tensor.new_tensor and _is_there(args[0]):
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(DEVICE)
        if func in (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__):
            one, other = args[:2]
            if _is_there(one) and one.ndim == 1 and other.ndim > 1:  # ends in a squeeze_ otherwise
                return torch.mm(one.unsqueeze(0), other).squeeze(0)
        if func is torch.Tensor.tolist and _is_there(args[0]):
            _count(self.counts, "wait")
            return args[0].detach().inner.tolist()
        return func(*args, **kwargs)


class Generator(torch.Generator):
    """One of the host, or of the pretend device, where it draws the same numbers."""

    def __new__(cls, device: torch.device | str = "cpu") -> Generator:
        return super().__new__(cls, device="cpu")

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self._at = torch.device(device)

    @property
    def device(self) -> torch.device:
        return self._at


@contextmanager
def bridged() -> Iterator[None]:
    """The one way over which Warp gets at what the pretend device holds; memory of the host is refused."""
    import warp as wp

    from ssr import bridge

    @contextmanager
    def beside(device: torch.device | str) -> Iterator[None]:
        with wp.ScopedDevice("cpu"):
            yield

    def array(tensor: torch.Tensor, dtype: Any = None) -> Any:
        if not _is_there(tensor):
            raise Mixed(f"memory of the host in a kernel of the device, {_place()}")
        return wp.from_torch(tensor.detach().inner, dtype)  # type: ignore[attr-defined]

    there: dict[str, Any] = {"beside": beside, "array": array, "device_of": lambda at: wp.get_device("cpu")}
    there["tensor"] = lambda array: OnDevice(wp.to_torch(array))
    with patch.multiple(bridge, **there), patch.object(torch, "Generator", Generator):
        yield

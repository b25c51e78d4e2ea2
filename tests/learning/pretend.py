"""A pretend accelerator: tensors that say they live on `pretend:0`, hold real values, refuse to meet those of
the CPU, and count what would cross between host and device or make one wait for the other.

    with Pretend() as accelerator:
        ...
    accelerator.counts["to host"]
"""

from __future__ import annotations

import traceback
from collections import Counter
from typing import Any

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
    aten.repeat_interleave.Tensor, aten.is_nonzero.default, aten._unique2.default,
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


def _is_there(x: object) -> bool:
    return isinstance(x, OnDevice)


def _there(device: object) -> bool:
    return torch.device(device).type == DEVICE.type  # type: ignore[arg-type]


def _run(func: Any, args: Any, kwargs: dict[str, Any], counts: Counter[str]) -> Any:
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
    if there and (func in WAITING or (masks and func is aten.index.Tensor)):
        _count(counts, "wait")
    if there and func.__name__.split(".")[0] in RESHAPING:
        raise NotImplementedError(f"{func}, {_place()}")
    generator = kwargs.get("generator")
    if generator is not None and result_there and generator.device.type == "cpu":
        raise Mixed(f"{func}: a generator of the host draws for the device, {_place()}")
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
    """While it is on, the device exists. counts: `to host`, `to device` and `wait`, also by place."""

    def __init__(self) -> None:
        super().__init__()
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
        return _run(func, args, kwargs or {}, self.counts)


class _Making(TorchFunctionMode):
    """What reaches no operator that could be looked at."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts = counts

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
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

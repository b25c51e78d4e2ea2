"""ROS 2's wire format (plain CDR, XCDR1) for the message classes of `messages`.

cyclonedds can do this too, at a tenth of the speed: too slow for three streams of 1 kHz and 640×360 images.
A codec is put together once per class from its field types; arrays of numbers are NumPy arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, get_type_hints

import numpy as np
from cyclonedds.idl.types import array, float32, float64, int32, sequence, uint8, uint32

LITTLE = b"\x00\x01\x00\x00"  #: encapsulation header of little-endian CDR
HEADER = len(LITTLE)
NUMBERS: dict[Any, tuple[str, int]] = {
    uint8: ("B", 1),
    int32: ("i", 4),
    uint32: ("I", 4),
    float32: ("f", 4),
    float64: ("d", 8),
}


class Malformed(ValueError):
    """Bytes that are not a message of the expected type."""


class Input:
    """Received bytes and how far they have been read; alignment counts from the end of the header."""

    def __init__(self, data: bytes) -> None:
        if len(data) < HEADER or data[0] != 0 or data[1] not in (0, 1):
            raise Malformed("no CDR header")
        self.data, self.at = data, HEADER
        self.order = "<" if data[1] else ">"

    def take(self, size: int, count: int = 1) -> int:
        """Where `count` numbers of `size` bytes begin; the position moves behind them."""
        start = self.at + (HEADER - self.at) % size
        self.at = start + size * count
        if self.at > len(self.data):
            raise Malformed(f"{len(self.data)} bytes, at least {self.at} expected")
        return start

    def count(self) -> int:
        start = self.take(4)
        return int(struct.unpack_from(self.order + "I", self.data, start)[0])


Encode = Callable[[bytearray, Any], None]
Decode = Callable[[Input], Any]


@lru_cache
def codec(kind: Any) -> tuple[Encode, Decode]:
    """How a field type (or a whole message class) is written and read."""
    if kind in NUMBERS:
        return _number(*NUMBERS[kind])
    if kind is str:
        return _write_text, _read_text
    if is_dataclass(kind):
        return _structure(kind)
    wrapper = kind.__metadata__[0]  # cyclonedds writes sequences and arrays as Annotated[..., wrapper]
    if isinstance(wrapper, array):
        return _numbers(*NUMBERS[wrapper.subtype], length=wrapper.length)
    if not isinstance(wrapper, sequence):
        raise TypeError(f"no codec for {kind}")
    if wrapper.subtype is str:
        return _texts()
    if wrapper.subtype in NUMBERS:
        return _numbers(*NUMBERS[wrapper.subtype], length=None)
    return _sequence(wrapper.subtype)


def _pad(out: bytearray, size: int) -> None:
    out.extend(bytes(-(len(out) - HEADER) % size))


def _number(letter: str, size: int) -> tuple[Encode, Decode]:
    packer = struct.Struct("<" + letter)

    def write(out: bytearray, value: Any) -> None:
        _pad(out, size)
        out.extend(packer.pack(value))

    def read(data: Input) -> Any:
        start = data.take(size)
        return struct.unpack_from(data.order + letter, data.data, start)[0]

    return write, read


def _write_text(out: bytearray, value: str) -> None:
    raw = value.encode() + b"\0"
    _pad(out, 4)
    out.extend(struct.pack("<I", len(raw)))
    out.extend(raw)


def _read_text(data: Input) -> str:
    count = data.count()
    start = data.take(1, count)
    try:
        return data.data[start : start + count].rstrip(b"\0").decode()
    except UnicodeDecodeError:
        raise Malformed("text is not UTF-8") from None


@lru_cache(maxsize=64)
def _texts_as_bytes(values: tuple[str, ...]) -> bytes:
    """Lists of joint names never change, so they are encoded once. Begins 4-aligned, as the count must."""
    out = bytearray(HEADER)
    out.extend(struct.pack("<I", len(values)))
    for value in values:
        _write_text(out, value)
    return bytes(out[HEADER:])


def _texts() -> tuple[Encode, Decode]:
    known: dict[str, tuple[bytes, tuple[str, ...]]] = {}

    def write(out: bytearray, values: Any) -> None:
        _pad(out, 4)
        out.extend(_texts_as_bytes(tuple(values)))

    def read(data: Input) -> tuple[str, ...]:
        start = data.take(4, 0)
        raw, names = known.get(data.order, (b"", ()))
        if raw and data.data.startswith(raw, start):
            data.at = start + len(raw)
            return names
        names = tuple(_read_text(data) for _ in range(_plausible(data, data.count(), 4)))
        known[data.order] = (data.data[start : data.at], names)
        return names

    return write, read


def _numbers(letter: str, size: int, length: int | None) -> tuple[Encode, Decode]:
    """A sequence (its count goes before it) or, with a `length`, a fixed array."""
    little = np.dtype("<" + letter)

    def write(out: bytearray, values: Any) -> None:
        numbers = np.asarray(values, dtype=little).ravel()
        if length is None:
            _pad(out, 4)
            out.extend(struct.pack("<I", numbers.size))
        elif numbers.size != length:
            raise ValueError(f"{numbers.size} numbers, expected {length}")
        if numbers.size:
            _pad(out, size)
            out.extend(numbers.tobytes())

    def read(data: Input) -> np.ndarray:
        count = data.count() if length is None else length
        if count == 0:
            return np.empty(0, little)
        start = data.take(size, count)
        return np.frombuffer(data.data, np.dtype(data.order + letter), count, start)

    return write, read


def _sequence(kind: Any) -> tuple[Encode, Decode]:
    write_one, read_one = codec(kind)

    def write(out: bytearray, values: Any) -> None:
        _pad(out, 4)
        out.extend(struct.pack("<I", len(values)))
        for value in values:
            write_one(out, value)

    def read(data: Input) -> list[Any]:
        return [read_one(data) for _ in range(_plausible(data, data.count(), 1))]

    return write, read


def _plausible(data: Input, count: int, least: int) -> int:
    """A count that the rest of the message can hold; garbage must not become a long loop."""
    if count * least > len(data.data) - data.at:
        raise Malformed(f"{count} entries in {len(data.data) - data.at} bytes")
    return count


def _structure(kind: Any) -> tuple[Encode, Decode]:
    hints = get_type_hints(kind, include_extras=True)
    parts = [(field.name, *codec(hints[field.name])) for field in fields(kind)]

    def write(out: bytearray, value: Any) -> None:
        for name, write_part, _ in parts:
            write_part(out, getattr(value, name))

    def read(data: Input) -> Any:
        return kind(*[read_part(data) for _, _, read_part in parts])

    return write, read

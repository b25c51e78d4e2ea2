"""The policies that ship, by name: inside an installed package, or in the repository's `pretrained`."""

from __future__ import annotations

from pathlib import Path

from ssr.errors import UserError
from ssr.files import write_bytes

INSTALLED = Path(__file__).parent / "policies"
REPOSITORY = Path(__file__).parents[2] / "pretrained"
CONTRACT = "contract.json"  #: beside the ONNX file
FILES = ("config.json", "small.safetensors")  #: that make a run directory
DEFAULT = "x2"  #: what is shown to whoever names none


def folder() -> Path:
    return INSTALLED if INSTALLED.is_dir() else REPOSITORY


def names() -> tuple[str, ...]:
    """Of the policies that ship; one that is still learning is not among them."""
    found = sorted(path.parent.name for path in folder().glob("*/small.safetensors"))
    return tuple(name for name in found if not name.endswith("-next"))


def is_name(source: str) -> bool:
    """Whether this names a policy that ships; what exists under that path comes first."""
    return source in names() and not Path(source).exists()


def located(source: str) -> Path:
    """A run directory or small checkpoint from what a user types: a path, or a shipped policy's name."""
    if is_name(source):
        return folder() / source
    if not Path(source).exists():
        raise UserError(
            f"{source} does not exist. Give a run directory made by `ssr train`, or a policy that ships: "
            f"{', '.join(names())}."
        )
    return Path(source)


def home(source: str) -> Path:
    """The folder for what is found out about it: its own, or out/NAME for a policy that ships."""
    if is_name(source):
        return Path("out") / source
    path = Path(source)
    return path if path.is_dir() else path.parent


def copied(source: str) -> Path:
    """A run directory that may be written to: the one given, or a copy of a policy that ships."""
    if not is_name(source):
        return Path(source)
    run = home(source)
    run.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shipped, copy = (folder() / source / name).read_bytes(), run / name
        if copy.exists() and copy.read_bytes() != shipped:
            raise UserError(
                f"{copy} is not that of {source}, which ships. Move {run} away, or give its path."
            )
        write_bytes(copy, shipped)
    return run


def exported(source: str) -> Path:
    """Where `ssr export` has put a policy: its run directory, or out/NAME for one that ships."""
    if not is_name(source):
        return Path(source)
    run = home(source)
    if not (run / CONTRACT).is_file():
        raise UserError(f"{source} ships without ONNX. Run `ssr export {source}` first: it writes to {run}.")
    return run

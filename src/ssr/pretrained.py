"""The policies that ship, by name: inside an installed package, or in the repository's `pretrained`."""

from __future__ import annotations

from pathlib import Path

from ssr.errors import UserError

INSTALLED = Path(__file__).parent / "policies"
REPOSITORY = Path(__file__).parents[2] / "pretrained"
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

"""Errors a user can cause: each is one line that says what was given, what was expected and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 20  #: names that still make a line one can read


class UserError(Exception):
    """A mistake in the user's input. The command line prints its one line and exits with code 2."""


def unknown(what: str, given: object, known: Iterable[object]) -> UserError:
    """`Unknown robot: 'x3'. Known: dr02, x2.` Of many names only those most alike are given."""
    names = [str(k) for k in known]
    if len(names) <= LISTED:
        return UserError(f"Unknown {what}: {given!r}. Known: {', '.join(names)}.")
    alike = get_close_matches(str(given), names, n=5, cutoff=0.0)
    return UserError(f"Unknown {what}: {given!r}. Closest of {len(names)}: {', '.join(alike)}.")


def one_line(error: object) -> str:
    """What a library says of a file, which may be many lines."""
    return " ".join(str(error).split())


def is_want_of_memory(error: Exception) -> bool:
    """Each library has its own way to say it."""
    words = str(error).lower()
    return isinstance(error, MemoryError) or "allocate memory" in words or "out of memory" in words


def of_the_system(error: OSError) -> str:
    """`runs/x: No space left on device`."""
    words = one_line(error.strerror or error) or type(error).__name__
    return f"{error.filename}: {words}" if error.filename else words

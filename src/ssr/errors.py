"""Errors a user can cause: each is one line that says what was given, what was expected and what to do."""


class UserError(Exception):
    """A mistake in the user's input. The command line prints its one line and exits with code 2."""


def unknown(what: str, given: object, known: object) -> UserError:
    """`Unknown robot: 'x3'. Known: dr02, x2.`"""
    listed = ", ".join(str(k) for k in known)  # type: ignore[attr-defined]
    return UserError(f"Unknown {what}: {given!r}. Known: {listed}.")

"""Learning methods by name. One more is one file and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from ssr.errors import unknown

if TYPE_CHECKING:
    from ssr.learning.algorithm import Method

#: Modules by name and not as objects: methods may live in folders that build on this one.
#: Two names of one module are stages of one method, with the same networks.
ALGORITHMS = {
    "ssr": "ssr.learning.ssr",
    "pim": "ssr.baselines.pim",
    "hpl": "ssr.baselines.hpl",
    "hpl-student": "ssr.baselines.hpl",
}


def check(name: str) -> None:
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)


def method(name: str) -> Method:
    check(name)
    return cast("Method", import_module(ALGORITHMS[name]))

"""Which links are each other's mirror image, found by where they are; their names only break ties."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from ssr.robots.links import Link, mirror_sign
from ssr.rotation import MIRROR

NEAR = 0.01  #: m between a link and its partner's mirror image
ALIKE = 0.999  #: cosine between the mirror image of a hinge's axis and its partner's


def places(links: Sequence[Link]) -> dict[str, np.ndarray]:
    """Origins in the base's frame with every joint at 0. `links` are parallel to it, parents first."""
    at: dict[str, np.ndarray] = {}
    for link in links:
        at[link.name] = at[link.parent] + link.position if link.parent else np.zeros(3)
    return at


def partners(links: Sequence[Link]) -> dict[str, str]:
    """Every link that has a mirror partner, with it; on the midline it is its own."""
    at, found = places(links), {links[0].name: links[0].name}
    for link in links[1:]:
        parent = found.get(link.parent)
        if parent is None or link.name in found:
            continue
        taken = set(found.values())
        fitting = [o for o in links if o.parent == parent and o.name not in taken and _fit(link, o, at)]
        if fitting:
            best = max(fitting, key=lambda other: (other.name == link.name, _likeness(link.name, other.name)))
            found[link.name], found[best.name] = best.name, link.name
    return found


def _fit(link: Link, other: Link, at: dict[str, np.ndarray]) -> bool:
    """Whether `other` stands where the mirror image of `link` does, and turns about mirrored axes."""
    near = float(np.linalg.norm(at[link.name] * MIRROR - at[other.name])) < NEAR
    axes = zip(link.hinges, other.hinges, strict=False)
    return (
        near
        and len(link.hinges) == len(other.hinges)
        and all(abs(mirror_sign(a.axis, b.axis)) > ALIKE for a, b in axes)
    )


def _likeness(name: str, other: str) -> float:
    return SequenceMatcher(None, name, other).ratio()

"""Levels and terrain types: what the curriculum, the commands and the discriminators count in."""

from __future__ import annotations

from ssr.errors import UserError

LEVELS = 20

#: The five terrain types of the paper, in its order. Each has its own style discriminator and commands.
TERRAIN_TYPES = ("slope", "stairs", "discrete", "gap", "platform")
SLOPE = TERRAIN_TYPES.index("slope")
STAIRS = TERRAIN_TYPES.index("stairs")


def parse_level(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(f"Level {text!r}: expected a whole number 0 to {LEVELS - 1}.") from None

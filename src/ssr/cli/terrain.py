"""`ssr terrain`: describe or draw one training tile or evaluation strip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from ssr.cli import arguments
from ssr.errors import UserError
from ssr.ranges import Seed, settings
from ssr.terrain.draw import check_picture, save_picture
from ssr.terrain.making import make_tile
from ssr.terrain.registry import all_kinds, kind_named, kinds_help, settings_help
from ssr.terrain.settings import LEVELS, parse_level
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import Tile


@settings("--")
class TerrainOptions:
    """Describe one terrain tile (8 m × 4 m) or evaluation strip (22 m of one setting), or draw it.

    Without a kind, all kinds are listed with their easiest and hardest settings.
    """

    kind: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="KIND", help=kinds_help())] = None
    level: Annotated[str | None, tyro.conf.arg(metavar="INT")] = None
    """Difficulty 0 to 19 of Table 3."""
    setting: Annotated[
        str | None, tyro.conf.arg(metavar="NUMBERS", help=f"Instead of a level. {settings_help()}")
    ] = None
    strip: bool = False
    """An evaluation strip rather than a training tile."""
    seed: Seed = 0
    """Places obstacles; decides whether a slope given by its level rises or falls."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write a PNG of it here."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(TerrainOptions, argv, prog="ssr terrain")
    console = Console()
    if options.kind is None:
        console.print(_kinds())
        return 0
    if options.picture is not None:
        check_picture(options.picture)
    tile = _build(options.kind, options)
    console.print(_facts(tile, "strip" if options.strip else "tile"))
    if options.picture is not None:
        save_picture(tile, options.picture)
        console.print(f"picture: {options.picture}", soft_wrap=True, highlight=False)
    return 0


def _build(name: str, options: TerrainOptions) -> Tile:
    kind = kind_named(name)
    rng = np.random.default_rng(options.seed)
    level = None if options.level is None else parse_level(options.level)
    setting = None if options.setting is None else kind.parse(options.setting)
    if not options.strip:
        return make_tile(name, level, setting, rng)
    if (level is None) == (setting is None) and kind.parameters:
        raise UserError(f"{name} strip: give either a level 0 to {LEVELS - 1} or a setting.")
    if setting is None:
        setting = () if level is None else kind.at(level)
    return make_strip(name, setting, rng=rng)


def _facts(tile: Tile, what: str) -> Table:
    kind = kind_named(tile.kind)
    table = Table(show_header=False, title=f"{tile.kind} {what}", title_justify="left")
    rows = {
        "terrain type": kind.terrain_type,
        "level": "–" if tile.level is None else str(tile.level),
        "setting": kind.describe(tile.setting),
        "length × width": f"{tile.length:g} m × {2 * tile.half_width:g} m",
        "start": f"x = {tile.start:g} m",
        "obstacles": f"x = {tile.first_edge:.3f} to {tile.last_edge:.3f} m" if kind.has_edges else "none",
        "height at the end": f"{tile.end_height:+.3f} m",
        "boxes": str(len(tile.boxes)),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _kinds() -> Table:
    table = Table(
        "kind", "type", "easiest", "hardest", "trained", title="terrain kinds", title_justify="left"
    )
    for kind in all_kinds():
        ends = (kind.describe(kind.at(level)) for level in (0, LEVELS - 1))
        table.add_row(kind.name, kind.terrain_type, *ends, "yes" if kind.trained else "no")
    return table

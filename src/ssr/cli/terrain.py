"""`ssr terrain`: describe or draw one training tile or evaluation strip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from ssr.errors import UserError
from ssr.terrain.draw import check_picture, save_picture
from ssr.terrain.kinds import make_tile
from ssr.terrain.settings import (
    LEVELS,
    check_kind,
    describe,
    parse_level,
    parse_setting,
    setting_at,
    type_of,
)
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import KINDS, Tile


@dataclass(frozen=True, kw_only=True)
class TerrainOptions:
    """Describe one terrain tile (8 m × 4 m) or evaluation strip (22 m of one setting), or draw it.

    Without a kind, all kinds are listed with their easiest and hardest settings.
    """

    kind: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="KIND")] = None
    """flat, slope, stairs_up, stairs_down, discrete, gap or platform."""
    level: Annotated[str | None, tyro.conf.arg(metavar="INT")] = None
    """Difficulty 0 to 19 of Table 3."""
    setting: Annotated[str | None, tyro.conf.arg(metavar="NUMBERS")] = None
    """Instead of a level: HEIGHT/TREAD for stairs, degrees for a slope (negative falls), WIDTH or WIDTH/DEPTH
    for a gap, HEIGHT for discrete and platform; metres."""
    strip: bool = False
    """An evaluation strip rather than a training tile."""
    seed: int = 0
    """Places gaps, platforms and blocks; decides whether a slope given by its level rises or falls."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write a PNG of it here."""


def run(argv: list[str]) -> int:
    options = tyro.cli(TerrainOptions, prog="ssr terrain", args=argv)
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
    kind = check_kind(name)
    if options.seed < 0:
        raise UserError(f"Seed {options.seed}: expected 0 or more.")
    rng = np.random.default_rng(options.seed)
    level = None if options.level is None else parse_level(options.level)
    setting = None if options.setting is None else parse_setting(kind, options.setting)
    if not options.strip:
        return make_tile(kind, level, setting, rng)
    if (level is None) == (setting is None) and kind != "flat":
        raise UserError(f"{kind} strip: give either a level 0 to {LEVELS - 1} or a setting.")
    if setting is None:
        setting = () if level is None else setting_at(kind, level)
    return make_strip(kind, setting, rng=rng)


def _facts(tile: Tile, what: str) -> Table:
    table = Table(show_header=False, title=f"{tile.kind} {what}", title_justify="left")
    rows = {
        "terrain type": type_of(tile.kind),
        "level": "–" if tile.level is None else str(tile.level),
        "setting": describe(tile.kind, tile.setting),
        "length × width": f"{tile.length:g} m × {2 * tile.half_width:g} m",
        "start": f"x = {tile.start:g} m",
        "obstacles": f"x = {tile.first_edge:.3f} to {tile.last_edge:.3f} m" if tile.has_edges else "none",
        "height at the end": f"{tile.end_height:+.3f} m",
        "boxes": str(len(tile.boxes)),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _kinds() -> Table:
    table = Table("kind", "type", "easiest", "hardest", title="terrain kinds", title_justify="left")
    for kind in KINDS:
        ends = (describe(kind, setting_at(kind, level)) for level in (0, LEVELS - 1))
        table.add_row(kind, type_of(kind), *ends)
    return table

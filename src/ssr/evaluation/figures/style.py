"""How figures look, and how they become part of a page."""

from __future__ import annotations

import base64
import io

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

#: told apart by colour-blind eyes too (Okabe and Ito)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#000000", "#882255")
RIGHT, LEFT = "#d55e00", "#0072b2"
GROUND, GROUND_EDGE = "#cfd4da", "#5b6670"
SAFE = "#d9f0e3"
CHANCE = "#b23a48"  #: what luck alone would give
DPI = 130


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def figure(width: float, height: float) -> Figure:
    """Inches."""
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)


def png(made: Figure) -> bytes:
    buffer = io.BytesIO()
    made.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def inline(made: Figure, alternative: str) -> str:
    """An <img> that carries its picture with it."""
    data = base64.b64encode(png(made)).decode()
    return f'<img alt="{alternative}" src="data:image/png;base64,{data}">'

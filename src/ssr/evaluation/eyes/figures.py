"""Pictures of what a policy sees, drawn from its record."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ssr.evaluation.eyes.landings import DROP, RISE, free
from ssr.evaluation.eyes.looks import CAMERAS
from ssr.evaluation.eyes.phantom import repeats
from ssr.evaluation.eyes.record import Eyes
from ssr.evaluation.eyes.table import courses, of_course
from ssr.evaluation.figures.style import CHANCE, COLOURS, GROUND, GROUND_EDGE, colour, figure, tidy
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.table import two_lines
from ssr.vision.heightmap import BASE_X, BASE_Y

SEEN, IDEAL = "#d55e00", "#009e73"
LABELS = {"success": "success", "traversal": "traversal", "sfr": "safe footholds"}  #: panels of `cameras`
SHADES = {"open": COLOURS[0], "frozen": COLOURS[5], "blind": COLOURS[6]}
LEAST_RANGE = 0.12  #: m of height that a picture spans at least


def looks(eyes: Eyes) -> Figure | None:
    """Moments: the camera's image, the true height map, the decoded one, and both from the side."""
    shown = [
        (row, moment)
        for row in eyes.sight
        if row["edge_sight"] is not None
        for moment in row["moments"][: 2 if repeats(course_of(row)) else 1]
    ]
    if not shown:
        return None
    made = figure(11.0, 2.25 * len(shown) + 0.5)
    grid = made.subplots(len(shown), 4, squeeze=False, width_ratios=(1.0, 0.62, 0.62, 2.3))
    for axes, (row, moment) in zip(grid, shown, strict=True):
        _image(axes[0], row, moment)
        true, decoded = np.array(moment["true"]), np.array(moment["decoded"])
        middle = (true.max() + true.min()) / 2
        half = max(true.max() - true.min(), LEAST_RANGE) / 2
        _map(axes[1], true, middle, half)
        _map(axes[2], decoded, middle, half)
        _side(axes[3], moment, middle, half)
        said = f"edges seen on this strip: {row['edge_sight']:.2f}, by a blur {row['blurred']:.2f}"
        said = said.replace("-", "−")
        axes[3].text(0.99, 0.96, said, transform=axes[3].transAxes, ha="right", va="top", fontsize=9)
    titles = (
        "what the camera sees\n(yellow near, dark far)",
        "the ground,\nfrom above",
        "what it believes,\nfrom above",
        "from the side",
    )
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title, fontsize=10)
    for axes in grid[-1, 1:3]:
        axes.set_xlabel("left ↔ right", fontsize=8)
    grid[-1, 3].set_xlabel("metres ahead of the robot", fontsize=8)
    handles, labels = grid[0, 3].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=9, frameon=False)
    return made


def _image(axes: Axes, row: Row, moment: Row) -> None:
    axes.imshow(np.array(moment["image"]), cmap="viridis_r", interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    name = two_lines(course_of(row))
    axes.set_ylabel(f"{name}\n{moment['seconds']:.1f} s", fontsize=9, rotation=0, ha="right", va="center")


def _map(axes: Axes, heights: np.ndarray, middle: float, half: float) -> None:
    """Seen from above, ahead is up and left is left; light is high."""
    extent = (BASE_Y[0], BASE_Y[1], BASE_X[0], BASE_X[1])
    picture = heights[::-1, ::-1]
    axes.imshow(
        picture, extent=extent, cmap="cividis", vmin=middle - half, vmax=middle + half, aspect="equal"
    )
    axes.plot(0, 0, marker="^", ms=7, color="white", mec="black", mew=0.8)
    axes.set_xticks([])
    axes.set_yticks([])


def _side(axes: Axes, moment: Row, middle: float, half: float) -> None:
    """The cross-section along the middle line, m."""
    tidy(axes)
    ground = np.array(moment["ground"])
    along = np.linspace(*BASE_X, len(ground))
    decoded = np.array(moment["decoded"])
    columns = decoded.shape[1]
    said = decoded[:, columns // 2 - 1 : columns // 2 + 1].mean(axis=1)
    rows = np.linspace(*BASE_X, len(said))
    low, high = middle - 1.5 * half, middle + 2.3 * half
    axes.fill_between(along, ground, low - 1.0, color=GROUND, lw=0)
    axes.plot(along, ground, color=GROUND_EDGE, lw=1.6, label="the ground")
    axes.plot(rows, said, "o-", color=SEEN, ms=3.5, lw=1.8, label="what the robot believes")
    axes.plot(0, high - 0.1 * (high - low), marker=">", ms=9, color="black", ls="", label="the robot")
    axes.set_ylim(low, high)
    axes.set_xlim(*BASE_X)
    axes.set_ylabel("height (m)", fontsize=8)


def by_age(eyes: Eyes) -> Figure | None:
    """Edge sight and map error over the age of the image."""
    rows = [row for row in eyes.sight if row["edge_sight"] is not None]
    if not rows or max(len(row["by_age"]) for row in rows) < 2:
        return None
    made = figure(9.0, 3.0)
    left, right = made.subplots(1, 2)
    for number, row in enumerate(rows):
        ages = [r["age"] for r in row["by_age"] if r["edge_sight"] is not None]
        known = [r for r in row["by_age"] if r["edge_sight"] is not None]
        label = course_of(row).title
        left.plot(ages, [r["edge_sight"] for r in known], "o-", ms=3, color=colour(number), label=label)
        low, high = ([r[f"edge_sight_{end}"] for r in known] for end in ("low", "high"))
        left.fill_between(ages, low, high, color=colour(number), alpha=0.15, lw=0)
        left.plot(ages, [r["blurred"] for r in known], ":", lw=1.2, color=colour(number))
        right.plot(ages, [100 * r["map_error"] for r in known], "o-", ms=3, color=colour(number))
    for axes, label in ((left, "edges seen"), (right, "map error (cm)")):
        tidy(axes)
        axes.set_xlabel("age of the image (control steps)", fontsize=8)
        axes.set_ylabel(label, fontsize=8)
        axes.xaxis.get_major_locator().set_params(integer=True)
    left.set_ylim(-0.1, 1.05)
    right.set_ylim(bottom=0)
    made.legend(loc="outside upper center", ncols=len(rows), fontsize=8, frameon=False)
    return made


def phantoms(eyes: Eyes) -> Figure | None:
    """How far landings moved over how far the edges were shown to have moved, and who fell."""
    if not eyes.phantoms:
        return None
    made = figure(2.9 * len(eyes.phantoms) + 0.3, 5.2)
    grid = made.subplots(2, len(eyes.phantoms), squeeze=False, height_ratios=(2, 1))
    for column, row in zip(grid.T, eyes.phantoms, strict=True):
        _moved(column[0], row)
        _falls(column[1], row)
        column[0].sharex(column[1])
        column[0].set_title(two_lines(course_of(row)), fontsize=10)
    grid[0, 0].set_ylabel("feet land further on by (cm)", fontsize=8)
    grid[1, 0].set_ylabel("trials that end\nin a fall (%)", fontsize=8)
    found: dict[str, Artist] = {}
    for axes in grid[0]:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    made.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=3, fontsize=8, frameon=False
    )
    return made


def _moved(axes: Axes, row: Row) -> None:
    tidy(axes)
    shifts, cm = row["shifts"], 100 * row["tread"]
    ends = np.array([shifts[0]["share"], shifts[-1]["share"]]) * cm
    axes.plot(ends, ends, "--", color=IDEAL, lw=1.8, label="feet that follow the eyes")
    axes.plot(ends, [0, 0], "--", color="#888", lw=1.4, label="feet that do not")
    for at, moved, error, kept, label, shade in _series(row):
        for chosen, face, alpha in ((kept, shade, 1.0), (~kept, "white", 0.55)):
            x, y, bar = (cm * values[chosen] for values in (at, moved, error))
            axes.errorbar(
                x, y, bar, fmt="o", ms=6, capsize=3, lw=1.2, color=shade, mfc=face, alpha=alpha,
                label=label if chosen is kept else None,
            )  # fmt: skip
    if row["slope"] is not None:
        text = f"slope {row['slope']:.2f}\n({row['slope_low']:.2f} to {row['slope_high']:.2f})"
        axes.text(0.04, 0.97, text.replace("-", "−"), transform=axes.transAxes, va="top", fontsize=9)
    axes.tick_params(labelbottom=False)


def _series(row: Row) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, str, str]]:
    """Shift, movement since shift 0, its standard deviation (shares of a tread), where it is free, label and
    colour; one of stairs, else one of rises and one of drops."""
    shifts = row["shifts"]
    shares = np.array([shift["share"] for shift in shifts])
    column = lambda name: np.array([np.nan if s[name] is None else s[name] for s in shifts], dtype=float)
    if repeats(course_of(row)):
        phase = column("phase") - column("phase")[shares == 0]
        # The same place on the circle, as near as can be to half of the shift: neither line is favoured.
        moved = phase - np.round(phase - shares / 2)
        everywhere = np.ones(len(shares), dtype=bool)
        return [(shares, moved, column("phase_std"), everywhere, "landings on treads", COLOURS[0])]
    made = []
    for group, name, label in (
        (RISE, "rise", "first landing past a rise"),
        (DROP, "drop", "last before a drop"),
    ):
        place = column(f"past_{name}") / row["tread"]
        moved, error = place - place[shares == 0], column(f"past_{name}_std") / row["tread"]
        made.append((shares, moved, error, free(shares)[group], label, COLOURS[group]))
    return made


def _falls(axes: Axes, row: Row) -> None:
    tidy(axes)
    cm = 100 * row["tread"]
    for shift in row["shifts"]:
        value, low, high = (100 * shift[f"falls{end}"] for end in ("", "_low", "_high"))
        axes.bar(cm * shift["share"], value, 0.16 * cm, color="#b23a48", alpha=0.8)
        axes.errorbar(
            cm * shift["share"], value, [[value - low], [high - value]], color="#222", lw=0.9, capsize=2
        )
    axes.set_xticks([round(cm * shift["share"], 1) for shift in row["shifts"]])
    axes.set_ylim(0, 102)
    axes.set_xlabel("edges shown further on by (cm)", fontsize=8)


def cameras(eyes: Eyes) -> Figure:
    """Success, traversal and safe footholds with the camera open, frozen and blind."""
    tried = courses(eyes)
    made = figure(9.0, 5.6)
    panels = made.subplots(len(LABELS), 1, sharex=True, sharey=True)
    for axes, (name, label) in zip(panels, LABELS.items(), strict=True):
        tidy(axes)
        axes.set_ylabel(f"{label} (%)", fontsize=9)
        for k, course in enumerate(tried):
            rows = of_course(eyes.cameras, course)
            for row in rows:
                _bar(axes, row, name, k)
            if name == "sfr" and rows[0]["sfr_chance"] is not None:
                axes.plot([k - 0.42, k + 0.42], [100 * rows[0]["sfr_chance"]] * 2, "--", color=CHANCE, lw=1.4)
    panels[0].set_ylim(0, 102)
    panels[-1].set_xticks(range(len(tried)), [two_lines(course) for course in tried], fontsize=8)
    handles: list[Artist] = [Patch(color=shade, label=f"camera {name}") for name, shade in SHADES.items()]
    handles.append(Line2D([], [], ls="--", color=CHANCE, label="feet put anywhere"))
    made.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    return made


def _bar(axes: Axes, row: Row, name: str, at: float) -> None:
    if row[name] is None:
        return
    value, low, high = (100 * row[f"{name}{end}"] for end in ("", "_low", "_high"))
    at += 0.27 * (CAMERAS.index(row["camera"]) - 1)
    axes.bar(at, value, 0.25, color=SHADES[row["camera"]])
    axes.errorbar(at, value, [[value - low], [high - value]], color="#222", lw=0.8)

"""Tables of what a dataset holds and how good it is."""

from __future__ import annotations

from rich.table import Table

from ssr.motion.clip import COLUMNS
from ssr.motion.dataset import OWN, TABLE_11, MotionDataset
from ssr.motion.quality import Quality


def quality_table(rows: list[Quality]) -> Table:
    table = Table("clip", title="Quality", title_justify="left")
    for name in ("s", "slip cm/s", "penetration cm", "key points cm", "limits"):
        table.add_column(name, justify="right")
    table.add_column("kept")
    for q in rows:
        table.add_row(
            q.clip,
            f"{q.seconds:.1f}",
            f"{100 * q.slip_m_s:.2f}",
            f"{100 * q.penetration_m:.2f}",
            f"{100 * q.keypoint_error_m:.2f}",
            str(q.limit_violations),
            "yes" if q.kept else f"no: {q.reason}",
        )
    return table


def seconds_table(dataset: MotionDataset) -> Table:
    """Table 11: seconds per motion column and terrain type, mirrored copies not counted."""
    seconds = dataset.seconds()
    table = Table("terrain type", title="Seconds (recorded + planned)", title_justify="left")
    moving = [c for c in COLUMNS if c != "stand"]
    for column in moving:
        table.add_column(column, justify="right")
    table.add_column("total", justify="right")
    table.add_column("planned", justify="right")
    for kind, columns in TABLE_11.items():
        cells = [
            f"{seconds[c][0]:.0f} + {seconds[c][1]:.0f}{'*' if c == OWN[kind] else ''}"
            if c in columns
            else ""
            for c in moving
        ]
        recorded, planned = (sum(seconds[c][k] for c in columns) for k in (0, 1))
        share = planned / max(recorded + planned, 1e-9)
        table.add_row(kind, *cells, f"{recorded + planned:.1f}", f"{100 * share:.0f} %")
    stand = seconds["stand"]
    table.caption = f"* the terrain's own motion · standing: {stand[0]:.0f} + {stand[1]:.0f} s in every set"
    return table

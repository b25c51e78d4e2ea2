"""What the paper reports for SSR, to be read beside what is measured here."""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """Means and standard deviations of Table 1."""

    ap: float  #: W
    ap_std: float
    pfcf: float  #: N
    pfcf_std: float


TABLE_1: dict[str, Effort] = {
    "stairs_up": Effort(381.3, 5.4, 507.7, 12.6),
    "stairs_down": Effort(342.4, 8.6, 519.2, 19.3),
    "gap": Effort(214.4, 5.7, 463.4, 15.3),
    "platform": Effort(253.0, 6.3, 480.4, 14.9),
}

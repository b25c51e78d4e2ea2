"""All stresses by name."""

from __future__ import annotations

from ssr.errors import unknown
from ssr.evaluation.stress import bodies, eyes
from ssr.evaluation.stress.kind import StressKind, Trouble

KINDS: tuple[StressKind, ...] = (
    StressKind(
        name="shove", label="shoved from behind", unit="m/s", doses=(0.0, 0.5, 1.0, 1.5, 2.0), highest=4.0,
        about="at 6 s, 12 s and 18 s its speed grows at once, the way it heads", make=bodies.Shove,
    ),
    StressKind(
        name="shove_aside", label="shoved from the right", unit="m/s", doses=(0.0, 0.5, 1.0, 1.5, 2.0),
        highest=4.0, about="the same, to its left", make=bodies.ShoveAside,
    ),
    StressKind(
        name="shake", label="ground shakes", unit="m/s²", doses=(0.0, 1.0, 2.0, 3.0, 5.0), highest=20.0,
        about="from 3 s on the ground goes to and fro, 2 Hz along, 1.5 Hz across", make=bodies.ShakingGround,
    ),
    StressKind(
        name="twist", label="ground twists", unit="rad/s²", doses=(0.0, 3.0, 6.0, 12.0, 20.0), highest=100.0,
        about="from 3 s on the ground turns to and fro under it at 1.5 Hz", make=bodies.TwistingGround,
    ),
    StressKind(
        name="load", label="load put on", unit="kg", doses=(0.0, 5.0, 10.0, 15.0, 25.0), highest=60.0,
        about="at 6 s its base becomes heavier", make=bodies.Load,
    ),
    StressKind(
        name="slippery", label="slippery patches", unit="of friction lost", doses=(0.0, 0.3, 0.5, 0.7, 0.9),
        highest=0.99, about="0.8 m of every 2.4 m lose friction", make=bodies.Patches,
    ),
    StressKind(
        name="weak_knee", label="weak left knee", unit="of strength lost", doses=(0.0, 0.2, 0.4, 0.6, 0.8),
        highest=1.0, about="at 6 s one drive becomes weaker", make=bodies.WeakJoint,
    ),
    StressKind(
        name="grass", label="grass before the lens", unit="blades", doses=(0.0, 8.0, 16.0, 32.0, 64.0),
        highest=500.0, about="up to so many blades, each there in three images of ten", make=eyes.Blades,
    ),
    StressKind(
        name="holes", label="holes as from sunlight", unit="of the image", doses=(0.0, 0.1, 0.2, 0.4, 0.7),
        highest=1.0, about="one hole in every image, somewhere", make=eyes.Holes,
    ),
    StressKind(
        name="latency", label="late images", unit="s", doses=(0.0, 0.05, 0.1, 0.2, 0.4), highest=5.0,
        about="each image is seen later", make=eyes.Late,
    ),
    StressKind(
        name="frozen", label="frozen camera", unit="s", doses=(0.0, 0.5, 1.0, 2.0, 5.0), highest=3600.0,
        about="from 6 s on, for so long", make=eyes.Frozen,
    ),
    StressKind(
        name="missing", label="missing camera", unit="s", doses=(0.0, 0.5, 1.0, 2.0, 5.0), highest=3600.0,
        about="from 6 s on, for so long, every pixel is far", make=eyes.Missing,
    ),
)  # fmt: skip


def stress_names() -> tuple[str, ...]:
    return tuple(kind.name for kind in KINDS)


def stress_named(name: str) -> StressKind:
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise unknown("stress", name, stress_names())


def trouble_of(name: str, dose: float) -> Trouble:
    """What this dose does; nothing without a name."""
    return Trouble(0.0) if not name else stress_named(name).make(dose)

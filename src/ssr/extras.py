"""Packages that not everyone needs, and the extra that brings each."""

from __future__ import annotations

from ssr.errors import UserError

EXTRAS: dict[str, tuple[str, ...]] = {
    "viewer": ("viser",),
    "gpu": ("mujoco_warp", "warp"),
    "motion": ("mink", "daqp", "scipy"),
    "deploy": (
        *("onnx", "onnxscript", "onnxruntime", "cyclonedds", "pyrealsense2"),
        *("mcap", "mcap_ros2", "rosbags", "lz4"),
    ),
}


def missing(package: str | None) -> UserError | None:
    """What to do about a package that could not be imported; None if no extra has it."""
    root = (package or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if root in packages:
            return UserError(f"This needs the package {root}: pip install 'ssr[{extra}]'.")
    return None

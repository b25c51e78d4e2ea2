"""Depth images as messages, and back."""

from __future__ import annotations

import numpy as np

from ssr.deployment.contract import CameraContract
from ssr.deployment.messages import Header, Image, stamp

ENCODING = "16UC1"


def image_message(image: np.ndarray, nanoseconds: int) -> Image:
    """image: (height, width) uint16 in mm."""
    height, width = image.shape
    data = image.astype("<u2", copy=False).reshape(-1).view(np.uint8)
    return Image(Header(stamp(nanoseconds), "depth"), height, width, ENCODING, 0, 2 * width, data)


def as_image(message: Image, camera: CameraContract) -> np.ndarray | None:
    """(height, width) uint16 in mm, or None if the message is not a depth image of this camera."""
    width, height = camera.sensor_pixels
    fits = (message.width, message.height, message.encoding) == (width, height, ENCODING)
    if not fits or message.is_bigendian or message.step < 2 * width:
        return None
    if len(message.data) != message.step * height:
        return None
    rows = np.asarray(message.data, np.uint8).reshape(height, message.step)[:, : 2 * width]
    return np.ascontiguousarray(rows).view("<u2")

"""Whether a camera still sees: a driver that hangs may go on sending what is left in its buffers."""

from __future__ import annotations

from collections import deque
from zlib import crc32

import numpy as np

REMEMBERED = 32  #: images; a driver has fewer buffers to send again in turn
LEAST_MEASURED = 0.05  #: share of pixels; a covered lens measures nothing


class Freshness:
    """Tells a new image from one that shows nothing new. A real camera's noise never repeats itself."""

    def __init__(self) -> None:
        self._seen: deque[int] = deque(maxlen=REMEMBERED)
        self.stale = 0  #: images that were none
        self.trouble = ""  #: what was wrong with the last image, if anything

    def is_new(self, image: np.ndarray) -> bool:
        """image: (height, width) uint16 as the camera gave it, 0 where nothing was measured."""
        sign = crc32(image.tobytes())
        if sign in self._seen:
            self.trouble = "its images repeat each other"
        elif np.count_nonzero(image) < LEAST_MEASURED * image.size:
            self.trouble = "its images are empty"
        else:
            self.trouble = ""
        self._seen.append(sign)
        self.stale += bool(self.trouble)
        return not self.trouble

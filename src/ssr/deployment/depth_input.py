"""Where depth images come from on the robot: a topic, or a RealSense camera on this computer's own USB."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyrealsense2 as rs

from ssr.deployment.contract import CameraContract
from ssr.deployment.depth_messages import as_image, image_message
from ssr.deployment.depth_pipeline import DEPTH_UNIT, FRAME_RATE, DepthPipeline, ImageSource
from ssr.deployment.freshness import Freshness
from ssr.deployment.messages import Image, nanoseconds
from ssr.deployment.topics import Reader
from ssr.errors import UserError

PATIENCE = 0.1  #: s to wait for an image before looking whether to stop


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One image."""

    at: float  #: s, when it arrived, by the steady clock
    stamp: int  #: ns, when it was taken, by the camera's clock
    image: np.ndarray  #: (rows, columns) m, filtered: the policy's
    message: Image  #: as the camera gave it


class Camera(Protocol):
    malformed: int  #: images that could not be used

    def next(self, seconds: float) -> tuple[int, Any, Image] | None:
        """Stamp, SDK frame and message of the next image, or None if none comes within `seconds`."""

    def close(self) -> None: ...

    def trouble(self) -> str:
        """Why no image may be coming, if it is known."""


class TopicCamera:
    def __init__(self, reader: Reader[Image], camera: CameraContract) -> None:
        self._reader, self._camera = reader, camera
        self._source = ImageSource(camera)
        self._waiting: deque[Image] = deque(maxlen=1)  # an older image is of no use to anybody
        self.malformed = 0

    def next(self, seconds: float) -> tuple[int, Any, Image] | None:
        if not self._waiting and self._reader.wait(seconds):
            self._waiting.extend(self._reader.take())
        if not self._waiting:
            return None
        message = self._waiting.popleft()
        image = as_image(message, self._camera)
        if image is None:
            self.malformed += 1
            return None
        return nanoseconds(message.header.stamp), self._source.frame(image), message

    def close(self) -> None:
        self._source.close()

    def trouble(self) -> str:
        if self._reader.refused_publishers:
            return "its publisher offers best effort only: --no-reliable-depth"
        return "" if self._reader.publishers else "nobody publishes it"


class RealSenseCamera:
    """A D435i at 60 Hz, as in Appendix D."""

    malformed = 0

    def __init__(self, camera: CameraContract) -> None:
        width, height = camera.sensor_pixels
        self._pipeline, config = rs.pipeline(), rs.config()
        config.enable_stream(rs.stream.depth, width, height, rs.format.z16, FRAME_RATE)
        try:
            profile = self._pipeline.start(config)
        except RuntimeError as error:
            raise UserError(
                f"No RealSense camera with {width}×{height} depth at {FRAME_RATE} Hz here ({error}). "
                "Connect one, or take images from a topic with --camera topic."
            ) from None
        unit = profile.get_device().first_depth_sensor().get_depth_scale()
        if not np.isclose(unit, DEPTH_UNIT):
            raise UserError(f"The camera counts in {unit} m; set its depth units to {DEPTH_UNIT} m.")

    def next(self, seconds: float) -> tuple[int, Any, Image] | None:
        ok, frames = self._pipeline.try_wait_for_frames(round(1000 * seconds))
        if not ok:
            return None
        frame = frames.get_depth_frame()
        stamp = round(1e6 * frame.get_timestamp())
        return stamp, frame, image_message(np.asanyarray(frame.get_data()).copy(), stamp)

    def close(self) -> None:
        self._pipeline.stop()

    def trouble(self) -> str:
        return ""


class DepthInput:
    """A thread that filters every image as it comes; `latest` is the newest that shows something new."""

    def __init__(self, camera: Camera, contract: CameraContract) -> None:
        self.latest: Seen | None = None
        self._camera, self._pipeline, self._contract = camera, DepthPipeline(contract), contract
        self._freshness = Freshness()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="depth", daemon=True)
        self._thread.start()

    @property
    def malformed(self) -> int:
        return self._camera.malformed

    def trouble(self) -> str:
        return self._freshness.trouble or self._camera.trouble()

    @property
    def stale(self) -> int:
        """Images that repeated an earlier one, or showed nothing."""
        return self._freshness.stale

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=2.0)
        self._camera.close()

    def _work(self) -> None:
        while not self._stop.is_set():
            found = self._camera.next(PATIENCE)
            if found is not None:
                stamp, frame, message = found
                raw = as_image(message, self._contract)
                if raw is None or not self._freshness.is_new(raw):
                    continue
                image = self._pipeline.process(frame)
                self.latest = Seen(at=time.monotonic(), stamp=stamp, image=image, message=message)

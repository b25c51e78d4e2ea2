"""From a RealSense depth image to the policy's: the SDK's own filters, then a crop (Appendix D).

640×360 → decimation by 5, then by 2 → 64×36 → spatial, temporal and hole-filling filters → the middle
36 columns. The crop takes away what decimation pads, and the band on the left that the second imager of the
stereo pair cannot see: its width is focal length × baseline ÷ depth, 14 image columns at 0.12 m.

The SDK decimates by 2 with a median that prefers the nearer of four depths. On a receding floor this is a
shift by a quarter of an image row, 0.4°, well within the mounting errors (±1°) that training knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyrealsense2 as rs

from ssr.deployment.contract import CameraContract
from ssr.errors import UserError

DECIMATIONS = {10: (5, 2)}  #: shrinking → the SDK's decimation magnitudes, which end at 8
DEPTH_UNIT = 0.001  #: m, of 16-bit images
FRAME_RATE = 60
SMOOTH_DELTA = 8.0  #: mm; larger differences are kept. The SDK's 20 would smooth slopes and lag behind motion


class DepthPipeline:
    """One camera's filters, with their memory of earlier images."""

    def __init__(self, camera: CameraContract) -> None:
        if camera.shrink not in DECIMATIONS:
            raise UserError(f"Camera images shrunk by {camera.shrink}: known are {list(DECIMATIONS)}.")
        self.camera = camera
        self._filters = [
            *(rs.decimation_filter(magnitude) for magnitude in DECIMATIONS[camera.shrink]),
            _smoothing_within(rs.spatial_filter(), SMOOTH_DELTA),
            _smoothing_within(rs.temporal_filter(), SMOOTH_DELTA),
            rs.hole_filling_filter(),
        ]
        width, height = camera.sensor_pixels
        self._window = (
            _middle(height // camera.shrink, camera.rows),
            _middle(width // camera.shrink, camera.columns),
        )

    def process(self, frame: Any) -> np.ndarray:
        """An SDK depth frame → (rows, columns) float32 in m, row 0 on top, clamped to the camera's range."""
        for step in self._filters:
            frame = step.process(frame)
        raw = np.asanyarray(frame.get_data())[self._window]
        metres = raw.astype(np.float32) * np.float32(DEPTH_UNIT)
        # What no filter could fill has no known obstacle: as far as the camera is concerned, far.
        metres[raw == 0] = self.camera.far
        return np.clip(metres, self.camera.near, self.camera.far)


def _smoothing_within(smoother: Any, delta: float) -> Any:
    smoother.set_option(rs.option.filter_smooth_delta, delta)
    return smoother


def _middle(whole: int, kept: int) -> slice:
    start = (whole - kept) // 2
    return slice(start, start + kept)


class ImageSource:
    """Turns arrays into SDK frames through a `software_device`, so that they pass the same filters."""

    def __init__(self, camera: CameraContract) -> None:
        self._width, self._height = camera.sensor_pixels
        self._device = rs.software_device()
        self._sensor = self._device.add_sensor("Stereo Module")
        self._sensor.add_read_only_option(rs.option.depth_units, DEPTH_UNIT)
        self._profile = self._sensor.add_video_stream(self._stream(camera))
        self._queue = rs.frame_queue(1)
        self._sensor.open(self._profile)
        self._sensor.start(self._queue)
        self._number = 0

    def _stream(self, camera: CameraContract) -> Any:
        intrinsics = rs.intrinsics()
        intrinsics.width, intrinsics.height = self._width, self._height
        half = np.tan(np.deg2rad(camera.sensor_fov_degrees) / 2)
        intrinsics.fx, intrinsics.fy = self._width / 2 / half[0], self._height / 2 / half[1]
        intrinsics.ppx, intrinsics.ppy = self._width / 2, self._height / 2
        intrinsics.model, intrinsics.coeffs = rs.distortion.none, [0.0] * 5
        stream = rs.video_stream()
        stream.type, stream.index, stream.uid = rs.stream.depth, 0, 1
        stream.width, stream.height, stream.fps = self._width, self._height, FRAME_RATE
        stream.bpp, stream.fmt, stream.intrinsics = 2, rs.format.z16, intrinsics
        return stream

    def frame(self, image: np.ndarray) -> Any:
        """image: (height, width) uint16 in mm, 0 where nothing was measured."""
        if image.shape != (self._height, self._width) or image.dtype != np.uint16:
            raise ValueError(f"depth image of {image.shape} {image.dtype}")
        self._number += 1
        frame = rs.software_video_frame()
        frame.pixels = np.ascontiguousarray(image)
        frame.stride, frame.bpp = 2 * self._width, 2
        frame.timestamp = 1000.0 * self._number / FRAME_RATE
        frame.domain = rs.timestamp_domain.system_time
        frame.frame_number = self._number
        frame.profile = self._profile.as_video_stream_profile()
        frame.depth_units = DEPTH_UNIT
        self._sensor.on_video_frame(frame)
        return self._queue.wait_for_frame(1000)

    def close(self) -> None:
        self._sensor.stop()
        self._sensor.close()

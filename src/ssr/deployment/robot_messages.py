"""The simulated robot's side of the topics: sensors into messages, images out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssr.deployment.contract import CameraContract
from ssr.deployment.messages import Header, Image, Imu, JointState, Quaternion, Vector3, stamp

if TYPE_CHECKING:  # a controller reads images without knowing of simulation
    from ssr.deployment.simulated_robot import SimulatedRobot

ENCODING = "16UC1"
UNKNOWN = np.zeros(9)  #: covariances nobody knows


def joint_message(robot: SimulatedRobot, nanoseconds: int) -> JointState:
    position, velocity, torque = robot.joint_state()
    return JointState(Header(stamp(nanoseconds), ""), robot.joint_names, position, velocity, torque)


def imu_message(robot: SimulatedRobot, nanoseconds: int) -> Imu:
    (w, x, y, z), rate = robot.attitude()
    return Imu(
        Header(stamp(nanoseconds), robot.robot.base_link),
        Quaternion(x, y, z, w),
        UNKNOWN,
        Vector3(*rate),
        UNKNOWN,
        Vector3(),
        UNKNOWN,
    )


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

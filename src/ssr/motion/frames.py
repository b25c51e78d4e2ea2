"""The AMP frames of reference motion."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ssr import rotation
from ssr.motion import ground
from ssr.motion.clip import Clip
from ssr.robots.spec import RobotSpec
from ssr.symmetry.filling import vectors_of
from ssr.symmetry.vectors import layouts

WINDOW = 5  #: frames of ψ
STRIDE = 2  #: control steps between them unless a run says otherwise, 0.04 s


def amp_frames(robot: RobotSpec, clip: Clip) -> Tensor:
    """(T, 63) the frames of a clip: filled as those of a simulated robot, from the same quantities.

    A clip has no velocities of its own; they are central differences over two control steps.
    """
    facts = {
        "gravity": clip.gravity(),
        "local_velocity": clip.base_velocity(),
        "base_angular_velocity": clip.angular_velocity(),
        "joint_position": clip.joint_position,
        "joint_velocity": clip.joint_velocity(),
        "local_hand_position": clip.hand_position,
        "local_sole_position": clip.foot_position,
    }
    return torch.from_numpy(vectors_of(layouts(robot).amp, facts))


def blend(stride: int) -> int:
    """Over how many control steps a frame is averaged when frames lie so many apart."""
    return stride if stride > STRIDE else 1


class RecentMean:
    """The mean of each world's newest frames, as many as `blend` says, within its episode."""

    def __init__(self, num_envs: int, size: int, stride: int, device: str = "cpu") -> None:
        self.frames = torch.zeros(blend(stride), num_envs, size, device=device)

    def __call__(self, frame: Tensor, restarted: Tensor) -> Tensor:
        """frame (n, F); restarted (n,): worlds whose episode begins with it, and so does their mean."""
        self.frames = torch.where(restarted.unsqueeze(-1), frame, self.frames.roll(-1, 0))
        self.frames[-1] = frame
        return self.frames.mean(0)


def smoothed(frames: Tensor, over: int) -> Tensor:
    """(T, F) each frame averaged with those of the `over` - 1 steps before it, as far as there are any."""
    if over == 1:
        return frames
    sums = torch.cat((torch.zeros_like(frames[:1]), frames.double().cumsum(0)))
    first = (torch.arange(1, len(frames) + 1) - over).clamp_min(0)
    last = torch.arange(1, len(frames) + 1)
    return ((sums[last] - sums[first]) / (last - first).unsqueeze(1)).to(frames)


def support_height(clip: Clip) -> np.ndarray:
    """(T,) height of the base above the ground plane or, among boxes, the higher ground of its soles."""
    if not clip.boxes:
        return clip.base_position[:, 2]
    soles = clip.base_position[:, None] + rotation.rotate(clip.base_quaternion[:, None], clip.foot_position)
    under = ground.height(clip.boxes, soles[..., :2])
    return clip.base_position[:, 2] - under.max(1)


def soles_beside_base(clip: Clip) -> tuple[np.ndarray, np.ndarray]:
    """Sole centres (T, 2, 2) ahead and to the left of the base, which is (T, 2) m above the ground there."""
    turned = rotation.rotate(clip.base_quaternion[:, None], clip.foot_position)
    under = ground.height(clip.boxes, (clip.base_position[:, None] + turned)[..., :2])
    heading = rotation.about(rotation.Z, -rotation.yaw(clip.base_quaternion))
    ahead = rotation.rotate(heading[:, None], turned)[..., :2]
    return ahead.astype(np.float32), (clip.base_position[:, 2:] - under).astype(np.float32)

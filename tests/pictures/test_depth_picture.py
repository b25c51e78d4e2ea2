"""The robot's eye as a picture."""

from __future__ import annotations

import numpy as np
import pytest

from ssr.pictures.depth import depth_picture


@pytest.mark.parametrize("side", [288, 480, 20])
def test_near_and_far_look_different(side: int) -> None:
    depth = np.full((36, 36), 3.0)
    depth[:, :18] = 0.1
    eye = depth_picture(depth, 0.1, 3.0, side)
    assert eye.shape == (side, side, 3)
    assert np.ptp(eye[:, : side // 2], axis=(0, 1)).max() == 0
    assert np.abs(eye[0, 0].astype(int) - eye[0, -1].astype(int)).max() > 60

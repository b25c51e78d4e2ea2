"""Quaternions mean the same in NumPy, in tensors and in kernels, and the same as in MuJoCo."""

import subprocess
import sys

import mujoco
import numpy as np
import pytest
import torch

from ssr import rotation
from ssr.rotation import kernels, tensors

COUNT = 50


@pytest.fixture
def turns() -> np.ndarray:
    """(50, 4) unit quaternions."""
    return rotation.normalize(np.random.default_rng(0).normal(size=(COUNT, 4)))


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(COUNT, 3))


def mujoco_says(function, size: int, *arguments: np.ndarray) -> np.ndarray:
    out = np.empty((COUNT, size))
    for row, given in zip(out, zip(*arguments, strict=True), strict=True):
        function(row, *given)
    return out


def test_products_are_mujocos(turns) -> None:
    other = turns[::-1].copy()
    expected = mujoco_says(mujoco.mju_mulQuat, 4, turns, other)
    assert np.allclose(rotation.multiply(turns, other), expected, atol=1e-14)
    product = tensors.multiply(torch.from_numpy(turns), torch.from_numpy(other))
    assert np.allclose(product, expected, atol=1e-14)


def test_rotated_vectors_are_mujocos(turns, vectors) -> None:
    expected = mujoco_says(lambda out, q, v: mujoco.mju_rotVecQuat(out, v, q), 3, turns, vectors)
    assert np.allclose(rotation.rotate(turns, vectors), expected, atol=1e-14)
    assert np.allclose(tensors.rotate(torch.from_numpy(turns), torch.from_numpy(vectors)), expected)
    assert np.allclose(np.einsum("nij,nj->ni", rotation.matrix(turns), vectors), expected, atol=1e-14)


def test_what_was_turned_turns_back(turns, vectors) -> None:
    turned = rotation.rotate(turns, vectors)
    assert np.allclose(rotation.unrotate(turns, turned), vectors, atol=1e-14)
    back = [kernels.unrotate(q, *v) for q, v in zip(turns, turned, strict=True)]
    assert np.allclose(back, vectors, atol=1e-14)


def test_a_matrix_gives_its_quaternion_back(turns) -> None:
    found = rotation.from_matrix(rotation.matrix(turns))
    assert np.allclose(np.abs((found * turns).sum(-1)), 1.0)


def test_gravity_and_heading_are_those_of_the_turned_axes(turns) -> None:
    down = rotation.unrotate(turns, np.tile([0.0, 0.0, -1.0], (COUNT, 1)))
    assert np.allclose(rotation.gravity(turns), down, atol=1e-14)
    assert np.allclose(rotation.gravity(1.02 * turns), down, atol=1e-14), "of any length"
    assert np.allclose([kernels.gravity(q) for q in turns], down, atol=1e-14)
    ahead = rotation.matrix(turns)[..., 0]
    heading = np.arctan2(ahead[:, 1], ahead[:, 0])
    assert np.allclose(rotation.yaw(turns), heading, atol=1e-12)
    assert np.allclose([kernels.yaw(q) for q in turns], heading, atol=1e-12)


def test_the_mirror_turns_the_mirrored_vector(turns, vectors) -> None:
    image = rotation.rotate(rotation.mirror(turns), rotation.MIRROR * vectors)
    assert np.allclose(image, rotation.MIRROR * rotation.rotate(turns, vectors), atol=1e-14)


def test_the_robot_needs_neither_torch_nor_mujoco_to_know_where_down_is() -> None:
    code = "import sys, ssr.rotation; sys.exit(any(m in sys.modules for m in ('torch', 'mujoco', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

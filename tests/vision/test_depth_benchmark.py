"""`ssr bench depth` reports every figure, also of the ways not taken."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ssr.benchmarks import depth
from ssr.benchmarks.depth_alternatives import triangles
from ssr.cli.main import main
from ssr.robots.spec import Shape


def test_the_last_line_is_one_json_object_with_all_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"POSES": 1, "LEVELS": (10,), "REPEATS": 1, "ENV_WORLDS": 4, "ENV_BLOCK": 2}
    for name, value in small.items():
        monkeypatch.setattr(depth, name, value)
    assert main(["bench", "depth", "--json", "--rounds", "1", "--alternatives"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    names = {"plain_warp_fps", "chosen_fps", "mujoco_fps", "ratio", "env_with_camera_ratio", "split_warp_fps"}
    assert names <= set(figures)
    assert all(figures[name] > 0 for name in names)


@pytest.mark.parametrize(
    "kind, size, volume",
    [
        ("box", (0.1, 0.2, 0.3), 8 * 0.1 * 0.2 * 0.3),
        ("sphere", (0.2,), 4 / 3 * np.pi * 0.2**3),
        ("cylinder", (0.1, 0.3), np.pi * 0.1**2 * 0.6),
        ("capsule", (0.1, 0.3), np.pi * 0.1**2 * 0.6 + 4 / 3 * np.pi * 0.1**3),
    ],
)
def test_the_triangles_of_a_shape_enclose_its_volume(kind, size, volume: float) -> None:
    shape = Shape(
        link="link", kind=kind, position=(1.0, -2.0, 0.5), quaternion=(0.5, 0.5, 0.5, 0.5), size=size
    )
    vertices, faces = triangles(shape)
    a, b, c = (vertices[faces[:, k]] - shape.position for k in range(3))
    enclosed = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert enclosed == pytest.approx(volume, rel=0.03)

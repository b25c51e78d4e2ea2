"""What would run on a GPU compiles for one, even where there is none."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["ssr.vision.ray_casting", "ssr.vision.landings_warp"])
def test_kernels_compile_for_cuda(name: str, tmp_path: Path) -> None:
    import warp as wp

    if not wp.is_cuda_available() and not hasattr(wp, "compile_aot_module"):
        pytest.skip("this Warp cannot compile for CUDA")
    import_module(name)
    wp.compile_aot_module(wp.get_module(name), arch=[80], module_dir=tmp_path)
    assert [path.suffix for path in tmp_path.iterdir() if path.stat().st_size > 0].count(".cubin") == 1

"""Kernels are compiled once after an installation, before anything else is measured or shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from ssr.task import env
from ssr.task.first_time import compile_kernels


class Counted(env.TraversalEnv):
    made = 0

    def __init__(self, *arguments: object, **options: object) -> None:
        Counted.made += 1
        super().__init__(*arguments, **options)  # type: ignore[arg-type]


def test_it_is_done_once_after_each_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "TraversalEnv", Counted)
    installed = tmp_path / "__init__.py"
    installed.touch()
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    for _ in range(2):
        compile_kernels(tmp_path)
    assert Counted.made == 1
    assert torch.equal(torch.rand(3), expected)  # nobody's luck was touched
    newer = (tmp_path / "__pycache__" / "compiled").stat().st_mtime + 10.0
    os.utime(installed, (newer, newer))
    compile_kernels(tmp_path)
    assert Counted.made == 2

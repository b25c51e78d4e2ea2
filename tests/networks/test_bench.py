"""`ssr bench networks` as its callers see it: figures on stdout, progress on stderr."""

from __future__ import annotations

import json

import pytest
import torch

from ssr.cli.main import main


@pytest.fixture(autouse=True)
def same_threads_afterwards():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_the_last_line_is_one_json_object(capsys):
    assert main(["bench", "networks", "--json", "--widths", "cpu", "--pairs", "3", "--seconds", "0.1"]) == 0
    output = capsys.readouterr()
    figures = json.loads(output.out.strip().splitlines()[-1])
    assert figures["ratio"] == max(figures["forward_ratio"], figures["forward_backward_ratio"])
    assert figures["forward_ratio"] == max(figures["forward_256_ratio"], figures["forward_1536_ratio"])
    assert "robots" in output.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["bench", "speed"], "Known: env, depth, networks"),
        (["bench", "networks", "--pairs", "1"], "pairs"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(capsys, arguments, reason):
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert reason in message
    assert len(message.strip().splitlines()) == 1


def test_help_names_every_benchmark(capsys):
    assert main(["bench", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("env", "depth", "networks", "train"))

"""`ssr robots` on the command line."""

from __future__ import annotations

import pytest

from ssr.cli.main import main


def test_it_lists_the_robots(capsys):
    assert main(["robots"]) == 0
    out = capsys.readouterr().out
    assert "AgiBot X2" in out and "39.0 kg" in out
    assert "DEEP Robotics DR02" in out and "67.6 kg" in out


def test_it_describes_one(capsys):
    assert main(["robots", "x2"]) == 0
    out = capsys.readouterr().out
    for fact in ("39.000 kg", "0.282 m", "21 controlled, 8 locked", "50° down", "right_ankle_roll_joint"):
        assert fact in out, fact
    assert "20/1" in out  # the ankle's gains, Table 14


@pytest.mark.parametrize("wrong", ["x3", "none.toml", "no/such/robot.toml"])
def test_an_unknown_robot_is_one_line_and_exit_code_2(wrong, capsys):
    assert main(["robots", wrong]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("ssr robots: ") and wrong in captured.err
    assert captured.err.count("\n") == 1


def test_a_malformed_toml_is_one_line_and_exit_code_2(tmp_path, capsys):
    file = tmp_path / "robot.toml"
    file.write_text("model = \n")
    assert main(["robots", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1

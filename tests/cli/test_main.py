"""What every command shares: mistakes are one readable line, and a reader may stop reading."""

import subprocess
import sys

from ssr.cli.main import main
from ssr.errors import unknown


def test_few_names_are_all_listed():
    assert str(unknown("robot", "x3", ("dr02", "x2"))) == "Unknown robot: 'x3'. Known: dr02, x2."


def test_of_many_names_the_most_alike_are_listed():
    text = str(unknown("clip", "walk_0.35", [f"walk_{k / 10}" for k in range(100)]))
    assert text.startswith("Unknown clip: 'walk_0.35'. Closest of 100: ") and len(text) < 120
    assert "walk_0.3" in text


def test_an_unknown_command_is_a_line_and_exit_code_2(capsys):
    assert main(["fly"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("ssr fly: Unknown command") and said.err.count("\n") == 1


def test_a_reader_that_stops_early_sees_no_traceback():
    """As in `ssr robots x2 | head -1`."""
    program = "import sys; sys.argv = ['ssr', 'robots', 'x2']; import time; from ssr.cli.main import main\n"
    program += "time.sleep(0.5); sys.exit(main())"
    talker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    talker.stdout.close()
    errors = talker.stderr.read().decode()
    assert talker.wait(timeout=120) in (0, 1) and errors == ""

"""`ssr`: one command, one file each. A command's module is imported only when it is asked for."""

from __future__ import annotations

import importlib
import os
import sys

from ssr import __version__
from ssr.errors import UserError, is_want_of_memory, of_the_system
from ssr.extras import missing

COMMANDS: dict[str, str] = {
    "doctor": "what this machine has, and which preset suits it",
    "robots": "list the robots, or describe one",
    "terrain": "describe or draw one terrain tile or evaluation strip",
    "camera": "what the robot's depth camera sees on a terrain",
    "motion": "retarget, show and report reference motion",
    "demo": "the guided tour behind `make demo`",
    "train": "train a policy",
    "eval": "try a policy: success, footholds and motion quality, with a report",
    "stress": "how much trouble a policy survives: success against dose",
    "course": "a walk of 1.3 km over mixed terrain, and what happened where",
    "eyes": "what a policy sees, and whether its feet follow",
    "compare": "the same tables and figures for several runs side by side",
    "study": "the paper's comparison: methods × seeds, trained, tried and drawn",
    "film": "a film and a film strip of a policy on a terrain",
    "play": "watch and steer a policy in the browser",
    "export": "write a run's policy as ONNX, with its contract",
    "deploy": "run an exported policy on a robot",
    "robot-sim": "a simulated robot behind the topics of a real one",
    "sim2sim": "an exported policy on the simulated robot, success per terrain",
    "completion": "what a shell needs to complete commands and options",
    "bench": "measure: env, depth, networks, eval, deploy, train, gpu",
}


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return (
        f"ssr {__version__} – humanoids that walk anywhere by sight\n\n"
        f"usage: ssr COMMAND [options]\n\ncommands:\n{lines}\n\n"
        "`ssr COMMAND --help` explains a command."
    )


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(__version__)
        return 0
    name, *rest = arguments
    try:
        if name not in COMMANDS:
            raise UserError(f"Unknown command: {name!r}. Known: {', '.join(COMMANDS)}.")
        command = importlib.import_module(f"ssr.cli.{name.replace('-', '_')}")
        try:
            return int(command.run(rest) or 0)
        finally:
            sys.stdout.flush()
    except ModuleNotFoundError as error:
        lacking = missing(error.name)
        if lacking is None:
            raise
        print(f"ssr {name}: {lacking}", file=sys.stderr)
        return 2
    except UserError as error:
        print(f"ssr {name}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a disk that is full or may not be written to, a file that may not be read
        print(f"ssr {name}: {of_the_system(error)}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError, ValueError) as error:
        if not is_want_of_memory(error):
            raise
        less = "fewer worlds, trials or workers, or smaller networks"
        print(f"ssr {name}: There is not enough memory for this. Ask for less: {less}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

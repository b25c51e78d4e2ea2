"""`ssr completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from typing import Annotated, Literal

import tyro

from ssr.cli import arguments
from ssr.ranges import settings

Shell = Literal["bash", "zsh", "fish"]
DESCRIPTION = """Print what your shell needs to complete `ssr`: its commands, their options, and files.

    ssr completion bash > ~/.local/share/bash-completion/completions/ssr
    ssr completion zsh >> ~/.zshrc
    ssr completion fish > ~/.config/fish/completions/ssr.fish"""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9.-]*[a-z0-9]")


@settings("--")
class CompletionOptions:
    shell: Annotated[Shell, tyro.conf.Positional] = "bash"
    """Which shell."""


def run(argv: list[str]) -> int:
    shell = arguments.parsed(CompletionOptions, argv, prog="ssr completion", description=DESCRIPTION).shell
    from ssr.cli.main import COMMANDS

    words = {name: options_of(name) for name in COMMANDS}
    print(_fish(words) if shell == "fish" else _bash(words, zsh=shell == "zsh"))
    return 0


def options_of(command: str) -> list[str]:
    """What its help names."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        importlib.import_module(f"ssr.cli.{command.replace('-', '_')}").run(["--help"])
    return sorted(set(OPTION.findall(said.getvalue())))


def _bash(words: dict[str, list[str]], *, zsh: bool) -> str:
    cases = "\n".join(f"        {name}) options='{' '.join(known)}' ;;" for name, known in words.items())
    start = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{start}_ssr() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" options=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{" ".join(words)}' -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _ssr ssr"""


def _fish(words: dict[str, list[str]]) -> str:
    from ssr.cli.main import COMMANDS

    lines = [
        f"complete -c ssr -f -n __fish_use_subcommand -a {name} -d '{COMMANDS[name].replace(chr(39), '')}'"
        for name in words
    ]
    lines += [
        f"complete -c ssr -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
        for name, known in words.items()
        for option in known
    ]
    return "\n".join(lines)

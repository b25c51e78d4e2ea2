"""Mutated settings and files."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from material import Material
from safetensors.torch import load_file
from tally import Tally

from ssr import robots
from ssr.cli.deploy import DeployOptions
from ssr.cli.train import Command
from ssr.deployment import exported
from ssr.evaluation.conditions import Conditions
from ssr.learning import checkpoint, config_file, presets, recipe, saved, sealed, small_checkpoint, stages
from ssr.learning.run_directory import read_metrics
from ssr.rehearsal.config import RobotProcessConfig, TrialConfig

NUMBERS = (nan, inf, -inf, -1, 0, -1e9, 1e9, 1e308, 2**70, 99_999_999_999, 1.5, -0.0, 1e-320)
OTHERS = (None, "", "nan", "x" * 5000, "\x00", True, [], (), {}, (1.0,), (2.0, 1.0), (nan, nan), [1, 2], b"x")
TOKENS = ("nan", "inf", "-inf", "-1", "0", "1e999", "null", "true", "[]", "{}", '""', "99999999999999999999")
SETTINGS, FILES = 700, 900  #: tries per seed


def settings(made: Material, seed: int) -> list[Tally]:
    rng = np.random.default_rng(seed)
    return [_values(rng), _words(rng)]


def _values(rng: np.random.Generator) -> Tally:
    """Any value for any setting, as JSON, TOML and code hand them over."""
    tally = Tally("settings")
    wholes = (
        presets.preset("cpu"),
        DeployOptions(run=Path("x")),
        RobotProcessConfig(),
        TrialConfig(),
        Conditions(),
    )
    everything = [(whole, path) for whole in wholes for path in _paths(whole)]
    for _ in range(SETTINGS):
        whole, path = everything[rng.integers(len(everything))]
        pool = NUMBERS if rng.random() < 0.6 else OTHERS
        value = pool[rng.integers(len(pool))]
        change = lambda w=whole, p=path, v=value: presets.get(presets.with_setting(w, p, v), p)
        tally.attempt(f"{type(whole).__name__} {path} = {value!r:.60}", change, _sound)
    return tally


def _paths(config: Any, before: str = "") -> list[str]:
    found = []
    for each in fields(config):
        value = getattr(config, each.name)
        found += _paths(value, f"{before}{each.name}.") if is_dataclass(value) else [before + each.name]
    return found


def _sound(value: Any) -> bool:
    """No number that is not finite got in; infinity only where a setting means it."""
    numbers = [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, float)]
    return all(isfinite(v) or v == inf for v in numbers)


def _words(rng: np.random.Generator) -> Tally:
    """The same on the command line."""
    tally = Tally("command lines")
    paths = [(Command, "train", p) for p in _paths(presets.preset("cpu"))]
    paths += [(DeployOptions, "deploy", p) for p in _paths(DeployOptions(run=Path("x")).config)]
    for _ in range(SETTINGS // 7):
        kind, name, path = paths[rng.integers(len(paths))]
        word = TOKENS[rng.integers(len(TOKENS))] if rng.random() < 0.8 else "\x1b[2J' \"--"
        given = [f"--{path.replace('_', '-')}", word]
        argv = given if kind is Command else ["x", *given]
        default = Command(config=presets.preset("cpu")) if kind is Command else None

        def parse(kind: type = kind, argv: list[str] = argv, default: Any = default) -> Any:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                return tyro.cli(kind, args=argv, **({} if default is None else {"default": default}))

        tally.attempt(
            f"{name} {argv}",
            parse,
            lambda parsed, p=path: _sound(presets.get(parsed.config, p)),
        )
    return tally


# ---- files ----------------------------------------------------------------------------------------------


def files(made: Material, seed: int) -> list[Tally]:
    rng, run, folder = np.random.default_rng(seed), made.run, made.folder
    newest = checkpoint.choose(run)
    snapshot, small = run / "snapshots" / "000002.safetensors", run / "small.safetensors"
    told, ship = run / "config.json", lambda: saved.load(run, 2).policy.weights()
    full, agreed = lambda: checkpoint.load(newest), lambda: exported.read(run).contract
    weights, tensors = ship(), load_file(newest / "rank0.safetensors")
    contract, config = exported.read(run).contract, config_file.load(told)
    state = small_checkpoint.load(small)[2]
    joints = robots.load(str(made.robot)).joints
    readers: dict[str, tuple[Path, Callable[[], Any], Callable[[Any], bool]]] = {
        "small checkpoint": (small, lambda: small_checkpoint.load(small)[2], lambda s: _alike(s, state)),
        "snapshot": (snapshot, ship, lambda w: _same(w, weights)),
        "checkpoint: state.json": (newest / "state.json", full, lambda s: s[0] == 2),
        "checkpoint: rank0.json": (newest / "rank0.json", full, lambda s: False),
        "checkpoint: tensors": (
            newest / "rank0.safetensors", full,
            lambda s: _same(load_file(newest / "rank0.safetensors"), tensors),
        ),
        "config.json": (told, lambda: config_file.load(told), lambda c: c == config),
        "contract.json": (run / "contract.json", agreed, lambda c: c == contract),
        "policy.onnx": (run / "policy.onnx", agreed, lambda c: False),
        "metrics.jsonl": (run / "metrics.jsonl", lambda: read_metrics(run), lambda rows: True),
        "recipe": (
            folder / "recipe.toml", lambda: recipe.read(recipe.text_of(str(folder / "recipe.toml")), "r"),
            lambda r: all(isfinite(s.steps) and s.steps > 0 for s in r.stages),
        ),
        "stages.json": (folder / "stages.json", lambda: stages.record(folder), lambda s: True),
        "robot.toml": (made.robot, lambda: robots.load(str(made.robot)).joints, _possible),
        "robot's MJCF": (folder / "biped.xml", lambda: robots.load(str(made.robot)).joints, _possible),
    }  # fmt: skip
    (folder / "recipe.toml").write_text(made.recipe)
    (folder / "stages.json").write_text(
        json.dumps({"format": stages.FORMAT, "recipe": "r", "seed": 1, "stages": []})
    )
    assert joints
    found = []
    for name, (path, read, harmless) in readers.items():
        tally, whole = Tally(name), path.read_bytes()
        for _ in range(FILES // len(readers) + 1):
            how, content = mutated(whole, rng)
            if content == whole:
                continue
            path.write_bytes(content)
            tally.attempt(f"{name} {how}", read, harmless)
        path.write_bytes(whole)
        found.append(tally)
    found.append(_strangers(made, rng))
    return found


def mutated(whole: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """One kind of damage at a place of its own, and what it was."""
    place, other = sorted(int(x) for x in rng.integers(0, max(len(whole), 1), 2))
    # Headers decide most: every other damage is done to the first kilobytes.
    if rng.random() < 0.5:
        place, other = (min(x, place % 4096 + 64) for x in (place % 4096, other))
    noise = rng.bytes(min(max(other - place, 1), 256))
    token = TOKENS[rng.integers(len(TOKENS))].encode()
    numbers = [k for k in range(place, min(place + 400, len(whole))) if chr(whole[k]).isdigit()]
    digit = numbers[0] if numbers else place
    after = next((k for k in range(digit, len(whole)) if chr(whole[k]) not in "0123456789.e-+"), len(whole))
    ways: dict[str, bytes] = {
        "a bit flipped": whole[:place]
        + bytes([whole[place] ^ (1 << int(rng.integers(8)))])
        + whole[place + 1 :],
        "truncated": whole[:place],
        "a stretch lost": whole[:place] + whole[other:],
        "a stretch twice": whole[:other] + whole[place:other] + whole[other:],
        "noise": whole[:place] + noise + whole[place + len(noise) :],
        f"a number became {token.decode()}": whole[:digit] + token + whole[after:],
        "a word put in": whole[:place] + token + whole[place:],
        "emptied": b"",
    }
    how = list(ways)[int(rng.integers(len(ways)))]
    return f"{how} at {place}", ways[how]


def _strangers(made: Material, rng: np.random.Generator) -> Tally:
    """Files that are something else altogether, and folders where files should be."""
    tally, folder = Tally("something else"), made.folder / "else"
    contents = (
        b"",
        b"\x00" * 100,
        b"{}",
        b"[]",
        b"null",
        b"[" * 50_000,
        rng.bytes(1000),
        b"\xff\xfe\x00",
        b"<robot/>",
    )
    for content in contents:
        for name in ("small.safetensors", "config.json", "contract.json", "stages.json"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / name).write_bytes(content)
            for read in (saved.load, exported.read, stages.record, read_metrics, checkpoint.choose):
                tally.attempt(
                    f"{name} = {content!r:.30}, {read.__module__}",
                    lambda r=read: r(folder),
                    lambda x: x == [],
                )
    for path in (made.folder, made.folder / "nowhere", Path("/dev/null")):
        mine = path == made.folder
        read = lambda p=path: robots.load(str(p / "robot.toml"))
        tally.attempt(f"robot {path}", read, lambda r, m=mine: m)
        tally.attempt(f"weights {path}", lambda p=path: sealed.read(p / "x"), lambda r: False)
    return tally


def _possible(joints: Any) -> bool:
    names = ("kp", "kd", "action_scale", "default", "lower", "upper", "max_torque", "max_velocity")
    values = np.array([[getattr(joint, name) for name in names] for joint in joints])
    return bool(np.isfinite(values).all() and (values[:, 0] > 0).all() and (values[:, 0] <= 5000).all())


def _same(one: Any, other: Any) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in other)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(other, dict):
        return (
            isinstance(one, dict)
            and one.keys() == other.keys()
            and all(_alike(one[k], other[k]) for k in other)
        )
    if isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(torch.equal(one, other)) if isinstance(other, torch.Tensor) else one == other

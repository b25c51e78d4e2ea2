"""One of everything the project reads from a disk or a network, damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from math import isfinite
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from alike import alike
from inputs import TOKENS
from material import JOINT_MAP, Material, bvh, urdf, walking
from safetensors.torch import load_file
from tally import Tally

from ssr import robots
from ssr.deployment import exported, recording
from ssr.deployment.controller import Controller, Phase
from ssr.deployment.messages import Imu, JointState, Message, String, Twist, Vector3
from ssr.deployment.thinking import Immediate
from ssr.evaluation import results
from ssr.evaluation import store as trial_store
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.eyes import record as eyes
from ssr.evaluation.hike import log as hike
from ssr.evaluation.stress import curves
from ssr.evaluation.trials import Trials
from ssr.learning import checkpoint, config_file, recipe, saved, sealed, small_checkpoint, stages
from ssr.learning.run_directory import RunDirectory, read_metrics
from ssr.motion import importing, joint_arrays, store
from ssr.motion.importing import ImportSettings
from ssr.rehearsal.sensor_messages import imu_message, joint_message
from ssr.rehearsal.simulated_robot import SimulatedRobot
from ssr.rehearsal.trial import strip
from ssr.robots import carried

EACH = 70  #: damages per kind of file and seed
MESSAGES = 150  #: the same of messages

STRESS = "stress.json"

Read = Callable[[], Any]
Harmless = Callable[[Any], bool]
Case = tuple[Path, Read, Harmless]


def files(made: Material, seed: int) -> list[Tally]:
    rng = np.random.default_rng(seed)
    cases = of_a_run(made) | of_a_robot(made) | of_motion(made) | of_measurements(made)
    found = []
    for name, (path, read, harmless) in cases.items():
        tally, whole = Tally(name), path.read_bytes()
        read()  # sound, it is read
        for _ in range(EACH):
            how, content = mutated(whole, rng)
            if content == whole:
                continue
            path.write_bytes(content)
            tally.attempt(f"{name} {how}", read, harmless)
        path.write_bytes(whole)
        found.append(tally)
    return [*found, messages(made, rng), _strangers(made, rng)]


def _unchanged(path: Path, read: Read) -> Case:
    """What is taken must say what it said before."""
    before = read()
    return path, read, lambda now: alike(now, before)


def plain(content: Any) -> str:
    return json.dumps(content, default=np.ndarray.tolist)


def of_a_run(made: Material) -> dict[str, Case]:
    run, folder = made.run, made.folder
    newest = checkpoint.choose(run)
    small, told, toml = run / "small.safetensors", run / "config.json", folder / "recipe.toml"
    full = lambda: (checkpoint.load(newest), load_file(newest / "rank0.safetensors"))
    agreed = lambda: exported.read(run).contract
    toml.write_text(made.recipe)
    (folder / "stages.json").write_text(
        json.dumps({"format": stages.FORMAT, "recipe": "r", "seed": 1, "stages": []})
    )

    def metrics() -> list[dict[str, Any]]:
        rows = read_metrics(run)
        RunDirectory(run).forget_after(1)
        return rows

    return {
        "small checkpoint": _unchanged(small, lambda: small_checkpoint.load(small)),
        "snapshot": _unchanged(
            run / "snapshots" / "000002.safetensors", lambda: saved.load(run, 2).policy.weights()
        ),
        "checkpoint: state.json": _unchanged(newest / "state.json", full),
        "checkpoint: rank0.json": _unchanged(newest / "rank0.json", full),
        "checkpoint: tensors": _unchanged(newest / "rank0.safetensors", full),
        "config.json": _unchanged(told, lambda: config_file.load(told)),
        "contract.json": _unchanged(run / "contract.json", agreed),
        "policy.onnx": (run / "policy.onnx", agreed, lambda c: False),
        "metrics.jsonl": (
            run / "metrics.jsonl", metrics,
            lambda rows: all(isfinite(value) for row in rows for value in row.values()),
        ),
        "recipe": (
            toml, lambda: recipe.read(recipe.text_of(str(toml)), "r"),
            lambda r: all(isfinite(s.steps) and s.steps > 0 for s in r.stages),
        ),
        "stages.json": (
            folder / "stages.json", lambda: stages.record(folder), lambda s: isinstance(s, list)
        ),
    }  # fmt: skip


def of_a_robot(made: Material) -> dict[str, Case]:
    toml, folder = made.robot, made.folder
    (folder / "biped.urdf").write_text(urdf())
    other = folder / "urdf.toml"
    other.write_text(toml.read_text().replace("biped.xml", "biped.urdf"))
    carried.write(folder / "robot.json", robots.anatomy(toml))
    joints = lambda path: lambda: robots.load(str(path)).joints
    return {
        "robot.toml": (toml, joints(toml), _possible),
        "robot's MJCF": (folder / "biped.xml", joints(toml), _possible),
        "robot's URDF": (folder / "biped.urdf", joints(other), _possible),
        "robot.json": (
            folder / "robot.json", lambda: carried.read(folder / "robot.json").joints, _possible
        ),
    }  # fmt: skip


def of_motion(made: Material) -> dict[str, Case]:
    folder = made.folder / "motion"
    folder.mkdir(exist_ok=True)
    clips, _ = store.load(store.of(robots.load("x2")))
    store.save(folder / "clips.npz", sorted(clips, key=lambda c: c.frames)[:2])
    (folder / "walk.bvh").write_text(bvh())
    (folder / "map.json").write_text(json.dumps(JOINT_MAP))
    walked = walking()
    positions = np.zeros((len(walked["pelvis"]), joint_arrays.JOINTS, 3))
    for name, points in walked.items():
        positions[:, joint_arrays.INDEX[name]] = points
    np.savez(folder / "points.npz", joint_positions=positions)
    (folder / "points.boxes.json").write_text(
        json.dumps({"fps": 120.0, "boxes": [{"corners": np.indices((2, 2, 2)).reshape(3, 8).T.tolist()}]})
    )
    finite = lambda found: bool(np.isfinite(found.points).all() and isfinite(found.fps))
    with_map = ImportSettings(joints=folder / "map.json")
    walk = lambda: importing.load(folder / "walk.bvh", with_map)
    placed = lambda: importing.load(folder / "points.npz")
    moved = lambda: [
        [getattr(clip, name) for name in ("name", "base_position", "joint_position", "foot_position")]
        for clip in store.load(folder / "clips.npz")[0]
    ]
    return {
        "motion file": _unchanged(folder / "clips.npz", lambda: plain(moved())),
        "BVH": (folder / "walk.bvh", walk, finite),
        "joint map": (folder / "map.json", walk, finite),
        "joint positions": (folder / "points.npz", placed, finite),
        "boxes": (folder / "points.boxes.json", placed, finite),
    }  # fmt: skip


def of_measurements(made: Material) -> dict[str, Case]:
    folder, said = made.folder / "measured", Conditions()
    row = {"terrain": "flat", "setting": "", "trials": 4, "success": 0.5}
    results.Results(name="r", folder=folder, digest="d", conditions=said, rows=[row]).save()
    about = {"name": "r", "policy": "p", "robot": "x2", "iteration": 1, "conditions": said, "trials": 4}
    curves.StressRecord(**about, rows=[row | {"stress": "shove", "dose": 0.4}]).save(folder)
    seen = eyes.Eyes(**about, code="c", sight=[row]).save(folder)
    hike.HikeLog(policy="p", code="c", seed=1, length=60.0, speed=1.0, track=[[0.0, 1.0, 2.0, 3.0]]).save(
        folder
    )
    shapes = {"foothold_position": (4, 2)}
    trials = Trials(**{f: np.ones(shapes.get(f, 4), np.float32) for f in Trials.__dataclass_fields__})
    kept, course = trial_store.Store(folder, digest="d" * 16), Course(kind="flat")
    kept.save(course, 0, trials)
    chunk = kept.path(course, 0, 4)
    told = lambda record: {name: value for name, value in vars(record).items() if name != "conditions"}

    def again() -> Any:
        """Damaged trials are removed and done again: that there are none is right, too."""
        found = kept.load(course, 0, 4)
        return None if found is None else plain(vars(found))

    before = again()
    assert before is not None
    return {
        "results.json": _unchanged(folder / "results.json", lambda: told(results.load(folder))),
        "stress.json": _unchanged(folder / STRESS, lambda: told(curves.load(folder / STRESS))),
        "eyes.json": _unchanged(seen, lambda: told(eyes.load(seen))),
        "log of a course": _unchanged(folder / hike.LOG, lambda: told(hike.load(folder))),
        "trials": (chunk, again, lambda now: now in (None, before)),
    }


# ---- what comes over the network ------------------------------------------------------------------------


def messages(made: Material, rng: np.random.Generator) -> Tally:
    """Damaged bytes of what a stiff controller hears: heard, refused or damped, never an error."""
    tally, policy = Tally("messages to a controller"), exported.read(made.run)
    robot = SimulatedRobot(robots.load("x2"), strip("flat"), seed=0)
    sound: list[Message] = [joint_message(robot, 10**9), imu_message(robot, 10**9), String("stand")]
    sound.append(Twist(Vector3(0.3, 0.0, 0.0), Vector3(0.0, 0.0, 0.1)))
    count = len(policy.contract.joints)
    idle = SimpleNamespace(reset=lambda: None, act=lambda history, depth: np.zeros(count, np.float32))

    def hear(kind: type[Message], raw: bytes) -> Any:
        message = kind.deserialize(raw)
        controller = Controller(policy.contract, Immediate(idle))
        controller.hear_joints(0.0, sound[0])  # type: ignore[arg-type]
        controller.hear_imu(0.0, sound[1])  # type: ignore[arg-type]
        controller.request(0.0, "stand")
        controller.tick(0.0, 0)
        if isinstance(message, JointState):
            controller.hear_joints(0.001, message)
        elif isinstance(message, Imu):
            controller.hear_imu(0.001, message)
        elif isinstance(message, Twist):
            controller.hear_velocity(0.001, message)
        elif isinstance(message, String):
            controller.request(0.001, message.data)
        targets, stiff = controller.tick(0.001, 1), controller.phase is Phase.STAND
        finite = all(np.isfinite(part).all() for part in vars(targets).values())
        return (
            finite
            and (stiff or not targets.stiffness.any())
            and np.isfinite(controller.velocity(0.001)).all()
        )

    for _ in range(MESSAGES):
        whole = sound[int(rng.integers(len(sound)))]
        how, content = mutated(whole.serialize(), rng)
        tally.attempt(f"{type(whole).__name__} {how}", partial(hear, type(whole), content), bool)
    tape = made.folder / "tape.mcap"
    written = recording.Tape(tape, {})
    for message in sound:
        written.add("topic", message)
    written.close()
    whole_tape = tape.read_bytes()
    for _ in range(EACH):
        how, content = mutated(whole_tape, rng)
        tape.write_bytes(content)
        tally.attempt(f"recording {how}", lambda: list(recording.read(tape)), lambda rows: len(rows) <= 8)
    return tally


# ---- damage ---------------------------------------------------------------------------------------------


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

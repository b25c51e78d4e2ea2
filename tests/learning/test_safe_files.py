"""What a run leaves on the disk is whole and its own; a disk that fails is told in one line."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ssr.cli.main import main
from ssr.errors import UserError
from ssr.learning import checkpoint, config_file, patience, presets, sealed, small_checkpoint
from ssr.learning.patience import patiently
from ssr.learning.run_directory import RunDirectory, read_metrics
from ssr.learning.run_lock import LOCK, clear_away, locked

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([True, False]), "c": torch.zeros(0, 4)}
SAID = {"iteration": "3", "config": "{}"}
FULL = OSError(errno.ENOSPC, "No space left on device", "x")
TINY = ("--preset", "smoke", "--env.num-envs", "4", "--run.iterations", "2")


# ---- seals ----------------------------------------------------------------------------------------------


def test_no_bit_of_a_sealed_file_can_change_unseen(tmp_path: Path) -> None:
    path = tmp_path / "000003.safetensors"
    sealed.write(path, TENSORS, SAID)
    whole = path.read_bytes()
    sealed.require_seal(path, *sealed.read(path))
    accepted = []
    for place in range(len(whole)):
        for bit in (0x01, 0x20):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            try:
                metadata, tensors = sealed.read(path)
                sealed.require_seal(path, metadata, tensors)
            except UserError as error:
                assert "\n" not in str(error)
                continue
            same = metadata | {"sha256": ""} == SAID | {"sha256": ""}
            same &= tensors.keys() == TENSORS.keys()
            accepted += [] if same and all(torch.equal(tensors[k], TENSORS[k]) for k in TENSORS) else [place]
    assert accepted == []


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 40, -1])
def test_a_truncated_one_is_one_line(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "000003.safetensors"
    sealed.write(path, TENSORS, SAID)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UserError, match="is damaged"):
        sealed.require_seal(path, *sealed.read(path))


def test_one_without_a_seal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no seal"):
        sealed.require_seal(tmp_path / "x", SAID, TENSORS)


def test_an_edited_configuration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    config_file.save(path, presets.preset("smoke"))
    assert config_file.load(path) == presets.preset("smoke")
    content = json.loads(path.read_text())
    content["task"]["control_period"] = 0.04
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="was edited: its checksum does not fit"):
        config_file.load(path)
    for text in ("", "[]", "3", "[" * 100_000, '{"ppo": {"__tuple__": 3}}', '{"seed": {"__tensor__": "x"}}'):
        path.write_text(text)
        with pytest.raises(UserError) as error:
            config_file.load(path)
        assert "\n" not in str(error.value)


# ---- one trainer per directory --------------------------------------------------------------------------


def test_a_second_trainer_is_told_who_holds_the_run(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(UserError, match=rf"is being trained by process {os.getpid()} on "),
        locked(tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_a_killed_trainers_lock_is_stale(tmp_path: Path) -> None:
    """The file is still there; nobody holds it."""
    text = (
        "import sys, time; from pathlib import Path; from ssr.learning.run_lock import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", text, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match=f"process {holder.pid}"), locked(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    dead = 2**22 + 1  # beyond the highest process there can be
    (tmp_path / f".{dead}.small.safetensors").write_text("half")
    (tmp_path / f".{os.getpid()}.config.json").write_text("somebody is at it")
    (tmp_path / ".hidden").write_text("not ours")
    checkpoint.save(tmp_path, 5, {"n": 5})
    shutil.move(tmp_path / "checkpoints" / "000005", tmp_path / "checkpoints" / ".000005.replaced")
    (tmp_path / "checkpoints" / ".000005.partial").mkdir()
    clear_away(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {f".{os.getpid()}.config.json", ".hidden", "checkpoints"}
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["000005"]
    assert checkpoint.load(checkpoint.choose(tmp_path)) == (5, {"n": 5})


# ---- disks ----------------------------------------------------------------------------------------------


def test_a_full_disk_is_tried_again_and_then_stops_in_one_line(monkeypatch, tmp_path: Path) -> None:
    slept: list[float] = []
    monkeypatch.setattr(patience.time, "sleep", slept.append)
    tries = iter([FULL, FULL, None])

    def write() -> str:
        if (failure := next(tries, FULL)) is not None:
            raise failure
        return "done"

    said: list[str] = []
    assert patiently(write, tmp_path, said.append) == "done"
    assert slept == list(patience.PAUSES[:2]) and "No space left on device" in said[0]
    with pytest.raises(UserError, match="What was saved last is whole") as error:
        patiently(write, tmp_path, said.append)
    assert "\n" not in str(error.value)


def test_training_on_a_full_disk_keeps_its_last_checkpoint(monkeypatch, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["train", *TINY, "--run", str(run)]) == 0
    kept = sorted(p.name for p in (run / "checkpoints").iterdir())
    monkeypatch.setattr(patience, "PAUSES", ())
    real = checkpoint.write_json

    def full(path: Path, *rest: object, **more: object) -> None:
        if path.name == checkpoint.STATE:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(checkpoint, "write_json", full)
    assert main(["train", "--resume", str(run), "--run.iterations", "3"]) == 2
    assert sorted(p.name for p in (run / "checkpoints").iterdir()) == kept, "nothing partial stays"
    assert not [p for p in run.iterdir() if p.name.startswith(".")]
    monkeypatch.setattr(checkpoint, "write_json", real)
    assert main(["train", "--resume", str(run), "--run.iterations", "3"]) == 0
    assert [row["iteration"] for row in read_metrics(run)] == [1, 2, 3]


def test_half_a_line_of_metrics_is_taken_back(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.log({"iteration": 1.0})
    limit = (tmp_path / "metrics.jsonl").stat().st_size + 5
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError):
            run.log({"iteration": 2.0, "tracking": 0.123456789})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    run.log({"iteration": 2.0})
    assert [row["iteration"] for row in read_metrics(tmp_path)] == [1.0, 2.0]


@pytest.mark.parametrize(
    "words",
    [
        ("train", *TINY, "--run", "TARGET"),
        ("terrain", "gap", "--level", "3", "--picture", "TARGET/a.png"),
        ("camera", "--picture", "TARGET/a.png"),
        ("eval", "scripted:stand", "--terrain", "flat", "--trials", "1", "--out", "TARGET/e"),
        ("compare", "nowhere", "--out", "TARGET/c.html"),
    ],
)
def test_a_place_that_cannot_be_written_is_one_line(words, tmp_path: Path, capfd) -> None:
    """A file where a folder should be refuses even the superuser."""
    target = tmp_path / "file"
    target.write_text("")
    assert main([word.replace("TARGET", str(target / "in")) for word in words]) == 2
    said = capfd.readouterr().err.strip()
    assert said.startswith(f"ssr {words[0]}: ") and "Traceback" not in said
    assert target.read_text() == "" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    "line",
    [
        *(f'{{"iteration": {value}}}' for value in ("null", '"2"', "NaN", "1e999", "9" * 400, "[]")),
        *("7", "[" * 9999, "{", ""),
    ],
)
def test_a_damaged_line_of_metrics_is_left_out_and_stops_no_resume(tmp_path: Path, line: str) -> None:
    run = RunDirectory(tmp_path)
    run.log({"iteration": 1.0, "kl": 0.5})
    path = tmp_path / "metrics.jsonl"
    path.write_text(path.read_text() + line + "\n")
    run.log({"iteration": 3.0})
    assert [row["iteration"] for row in read_metrics(tmp_path)] == [1.0, 3.0]
    run.forget_after(2)
    assert path.read_text() == '{"iteration": 1.0, "kl": 0.5}\n'


# ---- kills ----------------------------------------------------------------------------------------------


def test_half_a_removed_checkpoint_neither_looks_like_one_nor_stays(monkeypatch, tmp_path: Path) -> None:
    """Killed in the midst of removing it, with its weights gone and its state.json not, or the other way."""
    checkpoint.save(tmp_path, 1, {"n": 1})

    def killed(path: Path, **_: object) -> None:
        for part in sorted(path.iterdir() if path.exists() else ())[:2]:
            part.unlink()

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.shutil, "rmtree", killed)
        checkpoint.remove(tmp_path / "checkpoints" / "000001")
    assert list((tmp_path / "checkpoints").iterdir()) and not checkpoint.checkpoints(tmp_path)
    clear_away(tmp_path)
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_run_that_was_killed_before_its_small_checkpoint_writes_it_when_it_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["train", *TINY, "--run", str(run)]) == 0
    small = run / "small.safetensors"
    iteration, _, state = small_checkpoint.load(small)
    for lost in (small.unlink, lambda: small.write_bytes(b"half")):
        lost()
        assert main(["train", "--resume", str(run)]) == 0
        again = small_checkpoint.load(small)
        assert again[0] == iteration == 2 and again[2]["counters"] == state["counters"]


# ---- nothing is left behind -----------------------------------------------------------------------------


def test_a_run_that_never_began_leaves_no_directory(monkeypatch, tmp_path: Path) -> None:
    from ssr.learning import runner

    def broken(*_: object) -> None:
        raise UserError("no memory")

    monkeypatch.setattr(runner, "launch", broken)
    path = tmp_path / "runs" / "stub"
    assert main(["train", *TINY, "--run", str(path)]) == 2
    assert not path.exists()
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    assert main(["train", *TINY, "--run", str(path)]) == 2
    assert [p.name for p in path.iterdir()] == ["notes.txt"]


def test_mujoco_writes_no_log_where_the_user_stands(monkeypatch, tmp_path: Path) -> None:
    import mujoco

    from ssr.robots import load

    monkeypatch.chdir(tmp_path)
    model = load("x2").build().compile()
    data = mujoco.MjData(model)
    data.qpos[7] = float("nan")
    mujoco.mj_step(model, data)
    assert data.warning.number.sum() > 0 and list(tmp_path.iterdir()) == []

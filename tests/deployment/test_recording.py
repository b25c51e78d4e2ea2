"""A recording is complete, is read by others' tools, and survives the death of whoever wrote it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from ssr.deployment import recording
from ssr.deployment.messages import (
    Float32MultiArray,
    Header,
    Image,
    Imu,
    JointCommand,
    JointState,
    Message,
    MultiArrayLayout,
    Quaternion,
    String,
    Time,
    Twist,
    Vector3,
)
from ssr.errors import UserError

NINE = np.arange(9.0)
HEADER = Header(Time(3, 4), "here")
MESSAGES: dict[str, Message] = {
    "joint_states": JointState(HEADER, ("a", "bc"), np.ones(2), np.ones(2) * 2, np.ones(2) * 3),
    "imu": Imu(HEADER, Quaternion(0.0, 0.6, 0.0, 0.8), NINE, Vector3(1, 2, 3), NINE, Vector3(), NINE),
    "depth": Image(HEADER, 2, 3, "16UC1", 0, 6, np.arange(12, dtype=np.uint8)),
    "cmd_vel": Twist(Vector3(1.0, 0.0, 0.0), Vector3(0.0, 0.0, 0.5)),
    "status": String("{}"),
    "observation": Float32MultiArray(MultiArrayLayout([], 0), np.arange(5, dtype=np.float32)),
    "commands": JointCommand(HEADER, ("a",), *(np.array([float(i)]) for i in range(5))),
}


def test_every_message_is_decoded_by_another_implementation(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    tape = recording.Tape(path, {"ssr_contract": {"json": "{}"}})
    for topic, message in MESSAGES.items():
        tape.add(topic, message)
    tape.close()
    assert tape.dropped == 0 and not tape.failure
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        found = {d.channel.topic: d.decoded_message for d in reader.iter_decoded_messages()}
        assert [m.name for m in reader.iter_metadata()] == ["ssr_contract"]
    assert set(found) == {f"/{topic}" for topic in MESSAGES}
    assert list(found["/joint_states"].name) == ["a", "bc"] and list(found["/joint_states"].velocity) == [
        2,
        2,
    ]
    assert found["/imu"].orientation.w == 0.8 and list(found["/imu"].angular_velocity_covariance) == list(
        NINE
    )
    assert found["/depth"].width == 3 and bytes(found["/depth"].data) == bytes(range(12))
    assert found["/cmd_vel"].angular.z == 0.5 and found["/status"].data == "{}"
    assert list(found["/observation"].data) == [0, 1, 2, 3, 4]
    assert list(found["/commands"].damping) == [4.0]


WRITER = """
import sys, time
from pathlib import Path
from ssr.deployment.messages import String
from ssr.deployment.recording import Tape
tape = Tape(Path(sys.argv[1]))
for i in range(10_000):
    tape.add("count", String(str(i)))
    if i == 999:
        time.sleep(1.2)
        print("written", flush=True)
    if i > 999:
        time.sleep(0.01)
"""


def test_a_killed_writer_leaves_a_readable_recording(tmp_path: Path) -> None:
    path = tmp_path / "cut.mcap"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "written\n"
    writer.kill()
    writer.wait()
    numbers = [int(String.deserialize(raw).data) for _, _, _, raw in recording.read(path)]
    assert numbers[:1000] == list(range(1000)) and numbers == list(range(len(numbers)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-37])  # the last chunk was only half on the disk
    assert len(list(recording.read(path))) <= len(numbers)


def test_log_times_follow_the_steady_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = recording.Tape(tmp_path / "t.mcap")
    for i in range(20):
        tape.add("count", String(str(i)))
        monkeypatch.setattr(time, "time_ns", lambda i=i: 10**18 * (-1) ** i)  # the wall clock goes mad
    tape.close()
    times = [when for _, _, when, _ in recording.read(tmp_path / "t.mcap")]
    assert times == sorted(times) and times[-1] - times[0] < 10**9


def test_a_full_disk_stops_the_recording_not_the_robot(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    tape = recording.Tape(tmp_path / "f.mcap")
    tape._file.flush()
    broken = full.open("wb", buffering=0)
    tape._writer._Writer__stream = broken  # type: ignore[attr-defined]
    for i in range(3000):
        tape.add("count", String("x" * 1000 + str(i)))
    tape.close()
    assert "recording stopped" in tape.failure


def test_an_existing_recording_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.mcap").write_bytes(b"precious")
    with pytest.raises(UserError, match="Cannot record"):
        recording.Tape(tmp_path / "a.mcap")
    assert (tmp_path / "a.mcap").read_bytes() == b"precious"


@pytest.mark.parametrize("place", range(40, 1000, 37))
def test_a_damaged_recording_is_read_as_far_as_it_is_whole(tmp_path: Path, place: int) -> None:
    tape = recording.Tape(tmp_path / "x.mcap")
    for _ in range(3):
        tape.add("topic", String("said"))
    tape.close()
    whole = tape.path.read_bytes()
    tape.path.write_bytes(whole[:place] + b"\xc7\x9d" * 9 + whole[place + 18 :])
    assert len(list(recording.read(tape.path))) <= 3

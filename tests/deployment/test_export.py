"""What leaves the training machine is what was trained, and nothing can be changed on the way unnoticed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import stand_ins
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ssr.cli.main import main
from ssr.deployment import exported
from ssr.deployment.contract import SEAL, as_dict, parse, seal
from ssr.deployment.onnx_policy import OnnxPolicy
from ssr.errors import UserError
from ssr.export.policy import export, weights_digest
from ssr.learning import config_file, sealed
from ssr.robots import load


@pytest.mark.parametrize("mirror_averaged", [False, True])
def test_onnx_equals_pytorch_over_500_recurrent_steps(tmp_path: Path, mirror_averaged: bool) -> None:
    config = stand_ins.smoke_config()
    config = replace(config, network=replace(config.network, mirror_averaged=mirror_averaged))
    run = stand_ins.exported_run(tmp_path / "run", config)
    policy = stand_ins.random_networks(config).policy().eval()
    there = OnnxPolicy(exported.read(run))
    c, hidden = there.contract, policy.initial_hidden(1)
    generator = torch.Generator().manual_seed(1)
    actions = []
    with torch.no_grad():
        for _ in range(500):
            history = torch.randn(1, c.history, c.proprioception_size, generator=generator)
            depth = 3.0 * torch.rand(1, c.camera.rows, c.camera.columns, generator=generator)
            here, hidden = policy(history, depth, hidden)
            actions.append(here[0].numpy())
            np.testing.assert_allclose(there.act(history[0].numpy(), depth[0].numpy()), here[0], atol=1e-4)
    assert np.std(actions, axis=0).min() > 1e-3  # the actions differ, so equality says something


def test_contract_says_which_weights_and_which_robot(run: Path) -> None:
    contract = exported.read(run, load("x2")).contract
    networks = stand_ins.random_networks(stand_ins.smoke_config())
    assert contract.weights_sha256 == weights_digest(networks.policy())
    assert contract.iteration == 12
    assert contract.joint_names == load("x2").joint_names
    assert contract.camera.period == 5 and contract.control_period == 0.02
    assert contract.commands_per_action == 20


def test_training_on_leaves_an_exported_contract_alone(tmp_path: Path) -> None:
    run = tmp_path / "run"
    tiny = ["--preset", "smoke", "--env.num-envs", "4", "--run.iterations", "1"]
    assert main(["train", *tiny, "--run", str(run)]) == 0
    assert not (run / "contract.json").exists()
    contract = export(run)
    before = (run / "contract.json").read_bytes()
    assert main(["train", "--resume", str(run), "--run.iterations", "2"]) == 0
    assert (run / "contract.json").read_bytes() == before
    assert exported.read(run, load("x2")).contract == contract and contract.iteration == 1


def test_export_of_what_is_no_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path)]) == 2
    assert "not a run directory" in capsys.readouterr().err


def test_run_without_weights_is_refused(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "config.json", tmp_path)
    with pytest.raises(UserError, match="holds no weights"):
        export(tmp_path)


def test_weights_of_another_shape_are_refused(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    file = tmp_path / "run" / "snapshots" / "000012.safetensors"
    metadata, weights = sealed.read(file)
    config = config_file.from_text(metadata["config"])
    wider = replace(config, network=replace(config.network, gru_hidden=2 * config.network.gru_hidden))
    sealed.write(file, weights, metadata | {"config": config_file.as_text(wider)})
    with pytest.raises(UserError, match="do not fit"):
        export(tmp_path / "run")


def test_settings_come_with_the_weights_and_an_edited_configuration_is_refused(
    run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    config["camera"]["period"] += 1
    path.write_text(json.dumps(config))
    with pytest.raises(UserError, match="was edited"):
        export(tmp_path / "run")
    del config["sha256"]
    path.write_text(json.dumps(config))
    with pytest.raises(UserError, match="not what the weights were trained with"):
        export(tmp_path / "run")
    path.unlink()
    assert export(tmp_path / "run") == exported.read(run).contract


# ---- edits ----------------------------------------------------------------------------------------------


def swap_joints(c: dict[str, Any]) -> None:
    c["joints"][0], c["joints"][6] = c["joints"][6], c["joints"][0]


EDITS = {
    "joint order": (swap_joints, r"joints\[0\].name: 'left_hip_pitch_joint'"),
    "missing joint": (lambda c: c["joints"].pop(3), "20 entries, expected 21"),
    "action scale": (lambda c: c["joints"][2].update(action_scale=0.5), r"joints\[2\].action_scale: 0.5"),
    "gain": (lambda c: c["joints"][4].update(kp=400.0), r"joints\[4\].kp: 400.0"),
    "default pose": (lambda c: c["joints"][3].update(default=0.0), r"joints\[3\].default"),
    "observation scale": (lambda c: c["proprioception"][0]["scale"].__setitem__(1, 1.0), r"scale\[1\]: 1.0"),
    "observation order": (lambda c: c["proprioception"].reverse(), r"proprioception\[0\].name"),
    "history": (lambda c: c.update(history=6), "history: 6, expected 5"),
    "camera period": (lambda c: c["camera"].update(period=1), "camera.period: 1, expected 5"),
    "camera pitch": (lambda c: c["camera"].update(pitch_degrees=40.0), "camera.pitch_degrees: 40.0"),
    "control period": (lambda c: c.update(control_period=0.01), "control_period: 0.01"),
    "weights": (lambda c: c.update(weights_sha256="0" * 64), "weights_sha256"),
    "missing entry": (lambda c: c.pop("camera"), "lacks 'camera'"),
    "unknown entry": (lambda c: c.update(gait="trot"), "unknown entry 'gait'"),
    "mistyped entry": (lambda c: c.update(history="five"), "history should be a int"),
}


@pytest.mark.parametrize("resealed", [False, True])
@pytest.mark.parametrize("name", EDITS)
def test_an_edited_contract_is_refused_and_the_edit_named(
    run: Path, tmp_path: Path, name: str, resealed: bool
) -> None:
    edit, message = EDITS[name]
    content = json.loads((run / "contract.json").read_text())
    edit(content)
    if resealed:
        content[SEAL] = seal(content)
    shutil.copy(run / "policy.onnx", tmp_path)
    (tmp_path / "contract.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        exported.read(tmp_path)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, inner in enumerate(value) for leaf in leaves(inner, (*path, key))]
    return [path]


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_no_number_of_the_contract_can_be_changed(
    run: Path, tmp_path_factory: Any, data: st.DataObject
) -> None:
    content = json.loads((run / "contract.json").read_text())
    *way, last = data.draw(st.sampled_from(leaves(content)))
    inner = content
    for key in way:
        inner = inner[key]
    inner[last] = inner[last] + "x" if isinstance(inner[last], str) else inner[last] + 1
    path = tmp_path_factory.mktemp("edited")
    shutil.copy(run / "policy.onnx", path)
    (path / "contract.json").write_text(json.dumps(content))
    with pytest.raises(UserError):
        exported.read(path, load("x2"))


def test_an_edit_of_both_files_still_has_to_fit_the_robot(run: Path, tmp_path: Path) -> None:
    content = json.loads((run / "contract.json").read_text())
    content["joints"][4]["kp"] = 400.0
    model = onnx.load_from_string((run / "policy.onnx").read_bytes())
    body = {k: v for k, v in content.items() if k not in (SEAL, "onnx_sha256")}
    next(p for p in model.metadata_props if p.key == exported.METADATA).value = json.dumps(body)
    exported.write(tmp_path, parse(content, "test"), model.SerializeToString())
    assert as_dict(exported.read(tmp_path).contract) == body
    with pytest.raises(UserError, match="right_ankle_pitch_joint kp is 400, expected 40"):
        exported.read(tmp_path, load("x2"))
    with pytest.raises(UserError, match="trained for 'x2', not for 'dr02'"):
        exported.read(tmp_path, load("dr02"))


def test_another_policy_file_is_refused(run: Path, tmp_path: Path) -> None:
    model = onnx.load_from_string((run / "policy.onnx").read_bytes())
    model.doc_string = "another"
    (tmp_path / "policy.onnx").write_bytes(model.SerializeToString())
    shutil.copy(run / "contract.json", tmp_path)
    with pytest.raises(UserError, match="not the file"):
        exported.read(tmp_path)


@pytest.mark.parametrize("damage", ["truncated", "empty", "missing", "contract"])
def test_damaged_files_are_refused_in_one_line(run: Path, tmp_path: Path, damage: str) -> None:
    raw = (run / "policy.onnx").read_bytes()
    shutil.copy(run / "contract.json", tmp_path)
    if damage == "contract":
        (tmp_path / "contract.json").write_text("{")
    if damage != "missing":
        cut = {"truncated": len(raw) // 2, "empty": 0}.get(damage, len(raw))
        (tmp_path / "policy.onnx").write_bytes(raw[:cut])
    with pytest.raises(UserError) as caught:
        exported.read(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_run_that_was_not_exported_says_what_to_do(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "policy.onnx", tmp_path)
    (tmp_path / "contract.json").write_text(json.dumps({"format": 1, "robot": "x2"}))
    with pytest.raises(UserError, match="ssr export"):
        exported.read(tmp_path)

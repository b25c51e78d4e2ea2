"""AMASS files: joint rotations of the SMPL family. Positions need the licensed body model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssr import rotation
from ssr.errors import UserError
from ssr.motion.joint_arrays import arrays
from ssr.motion.recording import KEY_POINTS, Recording, checked

#: Joint numbers of the SMPL body, the same in SMPL, SMPL-H and SMPL-X.
INDEX = {
    "pelvis": 0, "neck": 12,
    "left_hip": 1, "right_hip": 2, "left_knee": 4, "right_knee": 5, "left_ankle": 7, "right_ankle": 8,
    "left_toe": 10, "right_toe": 11,
    "left_shoulder": 16, "right_shoulder": 17, "left_elbow": 18, "right_elbow": 19,
    "left_hand": 20, "right_hand": 21,
}  # fmt: skip
BODY_JOINTS = 22


def recording(path: Path, data: dict[str, np.ndarray], body_model: Path | None) -> Recording:
    """An AMASS sequence as key points: rest joints from the body model, then forward kinematics."""
    poses, trans = np.asarray(data["poses"]), np.asarray(data.get("trans", ()))
    if poses.dtype.kind != "f" or poses.ndim != 2 or poses.shape[1] < 3 * BODY_JOINTS:
        raise UserError(
            f"{path}: poses is {poses.dtype} {poses.shape}; expected float (T, ≥ {3 * BODY_JOINTS})."
        )
    if trans.shape != (len(poses), 3):
        raise UserError(f"{path}: trans is {trans.shape}; expected ({len(poses)}, 3).")
    rate = data.get("mocap_framerate", data.get("mocap_frame_rate"))
    if rate is None or np.asarray(rate).size != 1:
        raise UserError(f"{path}: no mocap_framerate. An AMASS file states its frame rate.")
    if body_model is None:
        raise UserError(
            f"{path} holds joint rotations only; positions need the licensed SMPL-H body model. "
            "Download it from mano.is.tue.mpg.de and pass --body-model model.npz."
        )
    rest, parents = _rest_joints(body_model, np.asarray(data.get("betas", np.zeros(0)), dtype=float))
    turns = rotation.from_vector(
        poses[:, : 3 * BODY_JOINTS].reshape(len(poses), BODY_JOINTS, 3).astype(float)
    )
    points = np.empty((len(poses), BODY_JOINTS, 3))
    world = np.empty((len(poses), BODY_JOINTS, 4))
    for k in range(BODY_JOINTS):
        if k == 0:
            points[:, 0], world[:, 0] = rest[0] + trans, turns[:, 0]
            continue
        parent = parents[k]
        points[:, k] = points[:, parent] + rotation.rotate(world[:, parent], rest[k] - rest[parent])
        world[:, k] = rotation.multiply(world[:, parent], turns[:, k])
    chosen = points[:, [INDEX[k] for k in KEY_POINTS]]
    return checked(Recording(name=path.stem, fps=float(np.asarray(rate).item()), points=chosen), path)


def _rest_joints(path: Path, betas: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Joints (22, 3) of the shaped body at rest, and each joint's parent."""
    model = arrays(path)
    try:
        template, directions = model["v_template"].astype(float), model["shapedirs"].astype(float)
        count = min(len(betas), directions.shape[-1])
        shaped = template + directions[..., :count] @ betas[:count]
        joints = (model["J_regressor"].astype(float) @ shaped)[:BODY_JOINTS]
        parents = [int(p) for p in model["kintree_table"][0, :BODY_JOINTS].astype(np.int64)]
    except (KeyError, ValueError, IndexError) as error:
        raise UserError(
            f"{path} is not an SMPL body model as .npz "
            f"(v_template, shapedirs, J_regressor, kintree_table): {error}."
        ) from None
    if joints.shape != (BODY_JOINTS, 3) or any(not 0 <= p < k for k, p in enumerate(parents) if k):
        raise UserError(f"{path}: the body model's skeleton is not a tree of {BODY_JOINTS} body joints.")
    return joints, parents

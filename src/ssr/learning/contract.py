"""What whoever runs the policy must know: names, orders, scales, rates. Nothing of it is typed twice."""

from __future__ import annotations

from typing import Any

from ssr.learning.algorithm import SSR
from ssr.learning.config import TrainConfig
from ssr.symmetry.layout import Layout


def contract(algorithm: SSR, config: TrainConfig) -> dict[str, Any]:
    robot, vectors, networks = algorithm.robot, algorithm.vectors, algorithm.networks.config
    return {
        "format": 1,
        "robot": robot.name,
        "joints": [
            {
                "name": joint.name,
                "default": joint.default,
                "action_scale": joint.action_scale,
                "kp": joint.kp,
                "kd": joint.kd,
                "max_torque": joint.max_torque,
            }
            for joint in robot.joints
        ],
        "locked_joints": list(robot.locked_joints),
        "control_period": config.task.control_period,
        "camera_period": config.camera.period,
        "camera_mount": {"position": list(robot.camera.position), "pitch_degrees": robot.camera.pitch},
        "image_size": list(networks.image_size),
        "depth_range": list(networks.depth_range),
        "history": networks.history,
        "hidden_size": algorithm.networks.encoder.hidden_size,
        "proprioception": _segments(vectors.proprioception),
        "action": _segments(vectors.action),
    }


def _segments(layout: Layout) -> list[dict[str, Any]]:
    return [
        {
            "name": segment.name,
            "size": segment.size,
            "scale": list(segment.scale) if isinstance(segment.scale, tuple) else segment.scale,
        }
        for segment in layout
    ]

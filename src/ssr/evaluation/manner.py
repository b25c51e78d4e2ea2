"""How alike a policy's walk and the reference motion are: a fresh judge, steps, arm swing, joint ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.fresh_judge import Side, tell_apart
from ssr.evaluation.gait import WARM_UP
from ssr.evaluation.intervals import Estimate
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import worlds_for
from ssr.motion.clip import Clip
from ssr.motion.dataset import MotionDataset
from ssr.motion.frames import STRIDE, WINDOW
from ssr.motion.targets import FPS
from ssr.robots.spec import RobotSpec
from ssr.symmetry.layout import Layout
from ssr.symmetry.vectors import layouts

ROBOTS, SECONDS = 24, 11.0  #: a trial each; the warm-up does not count
NEAR = 0.2  #: m/s; reference as fast as the policy, give or take
LEAST_CLIPS = 6  #: within that, else the clips nearest in speed
EVERY = 3  #: control steps between two windows that are judged
HALF = 25  #: frames; a clip's halves are such pieces in turn


@dataclass(frozen=True, kw_only=True)
class Walk:
    """One unbroken walk: AMP frames (t, F) at 50 Hz of one robot or one clip."""

    frames: Tensor
    group: int  #: of clip or robot; a mirrored copy has its original's


def policy_walks(subject: Subject, course: Course, seed: int, speed: float) -> list[Walk]:
    """The robot as built, after warm-up, as long as it stays up."""
    conditions = Conditions(seed=seed, seconds=SECONDS, speed=speed, nominal=True)
    worlds = worlds_for(subject, course, conditions, 0, ROBOTS, ROBOTS)
    actor, observation = subject.actor(), worlds.begin()
    actor.begin(ROBOTS)
    frames, lasted = [], torch.zeros(ROBOTS, dtype=torch.long)
    for _ in range(worlds.env.config.control_steps(SECONDS)):
        lasted += worlds.running
        transition = worlds.step(actor.act(observation))
        frames.append(transition.amp_frame.clone())
        if not bool(worlds.running.any()):
            break
        observation = worlds.observe()
    first, whole = round(WARM_UP * FPS), torch.stack(frames, dim=1)
    walks = [Walk(frames=whole[i, first:n], group=i) for i, n in enumerate(lasted.tolist())]
    return [walk for walk in walks if len(walk.frames) >= HALF]


def reference_walks(robot: RobotSpec, motion: MotionDataset, column: str, speed: float) -> list[Walk]:
    """Clips of a column of Table 11 that are about as fast, with their mirrored copies."""
    clips = [clip for clip in motion.clips if clip.column == column and clip.frames >= 2 * HALF]
    off = {clip.name: abs(_speed(clip) - speed) for clip in clips}
    ranked = sorted(clips, key=lambda clip: off[clip.name])
    near = [clip for clip in ranked if off[clip.name] <= NEAR]
    chosen = near if len(near) >= LEAST_CLIPS else ranked[:LEAST_CLIPS]
    walks = []
    for group, clip in enumerate(chosen):
        both = MotionDataset.of(robot, [clip]).frames
        walks += [Walk(frames=part, group=group) for part in (both[: clip.frames], both[clip.frames :])]
    return walks


def _speed(clip: Clip) -> float:
    """m/s over the ground."""
    return float(np.linalg.norm(clip.base_velocity()[:, :2], axis=1).mean())


def windows_of(walks: list[Walk], amp: Layout, half: int | None = None, only: str | None = None) -> Side:
    """Windows as the discriminators see them, without the base velocity, which a command can give away.

    half 0 or 1: only windows inside every other piece of `HALF` frames, so that the halves share no frame.
    only: this quantity and nothing else.
    """
    names = [only] if only else [segment.name for segment in amp if segment.name != "base_velocity"]
    kept = torch.zeros(amp.size, dtype=torch.bool)
    for name in names:
        kept[amp.slice(name)] = True
    reach = (WINDOW - 1) * STRIDE
    windows, groups = [], []
    for walk in walks:
        start = torch.arange(0, len(walk.frames) - reach, EVERY)
        if half is not None:
            piece, last = start // HALF, (start + reach) // HALF
            start = start[(piece == last) & (piece % 2 == half)]
        windows.append(walk.frames[start[:, None] + STRIDE * torch.arange(WINDOW)][..., kept])
        groups.append(torch.full((len(start),), walk.group))
    return Side(windows=torch.cat(windows), group=torch.cat(groups))


def describe(walks: list[Walk], robot: RobotSpec) -> dict[str, Any]:
    """Speed, cadence, step length, arm swing, and mean and 5–95 % range of every joint."""
    amp = layouts(robot).amp
    seconds = sum(len(walk.frames) for walk in walks) / FPS
    steps = sum(_passes(amp.get(walk.frames, "foot_position")) for walk in walks)
    way = sum(float(amp.get(w.frames, "base_velocity")[:, :2].norm(dim=-1).sum()) for w in walks) / FPS
    frames = torch.cat([walk.frames for walk in walks])
    hands = amp.get(frames, "hand_position").unflatten(-1, (2, 3))[..., 0]
    joints = amp.get(frames, "joint_position")
    return {
        "speed": round(way / seconds, 4),
        "cadence": round(steps / seconds, 4),
        "step_length": round(way / steps, 4) if steps else None,
        "arm_swing": round(float(_range(hands).mean()), 4),
        "joints": {
            name: [round(float(mean), 4), round(float(span), 4)]
            for name, mean, span in zip(robot.joint_names, joints.mean(0), _range(joints), strict=True)
        },
    }


def _passes(feet: Tensor) -> int:
    """How often one foot passes the other, from foot positions (t, 6) in the base frame."""
    ahead = feet[:, 0] > feet[:, 3]
    return int((ahead[1:] != ahead[:-1]).sum())


def _range(x: Tensor) -> Tensor:
    """(k,) between the 5 % and the 95 % quantile of each column of (m, k)."""
    low, high = torch.quantile(x, torch.tensor([0.05, 0.95]), dim=0)
    return high - low


def compare(subject: Subject, motion: MotionDataset, seed: int, speed: float) -> dict[str, Any] | None:
    """Everything about the walk on level ground beside the reference's; None if no robot stays up."""
    amp = layouts(subject.robot).amp
    walks = policy_walks(subject, Course.of("flat"), seed, speed)
    if len({walk.group for walk in walks}) < LEAST_CLIPS:
        return None
    own = describe(walks, subject.robot)
    reference = reference_walks(subject.robot, motion, "forward", own["speed"])
    told = lambda only: tell_apart(
        windows_of(walks, amp, only=only), windows_of(reference, amp, only=only), seed
    )
    halves = tell_apart(windows_of(reference, amp, 0), windows_of(reference, amp, 1), seed)
    parts = [segment.name for segment in amp if segment.name != "base_velocity"]
    return {
        "speed": speed,
        "robots": len({walk.group for walk in walks}),
        "clips": len({walk.group for walk in reference}),
        "judge": _numbers(told(None)),
        "judge_by_quantity": {name: _numbers(told(name)) for name in parts},
        "judge_of_halves": _numbers(halves),
        "policy": own,
        "reference": describe(reference, subject.robot),
    }


def _numbers(estimate: Estimate) -> list[float]:
    """Value and both ends of its interval."""
    return [round(x, 4) for x in (estimate.value, estimate.low, estimate.high)]

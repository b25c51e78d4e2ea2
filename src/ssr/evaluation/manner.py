"""How alike a policy's walk and the reference motion are: a fresh judge, steps, arm swing, joint ranges."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ssr.evaluation import fresh_judge
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.fresh_judge import LEAST_GROUPS, Side, tell_apart
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
NEAR = (
    0.15,
    0.3,
    0.6,
    inf,
)  #: m/s; windows as fast as the policy, give or take: the first with enough people
LEAST_PEOPLE = LEAST_GROUPS + 1  #: of the reference; planned walks are one
JUDGED_PEOPLE = 6  #: among whom one is told from the others
LEAST_ROBOTS = 6  #: that stay up
PLANNED = -1  #: the group of walks that nobody walked
EVERY = 3  #: control steps between two windows that are judged
HALF = 25  #: frames; a clip's halves are such pieces in turn
STRIDE_FRAMES = 50  #: over which a window's speed is taken: within a step it rises and falls


@dataclass(frozen=True, kw_only=True)
class Walk:
    """One unbroken walk: AMP frames (t, F) at 50 Hz of one robot or one clip."""

    frames: Tensor
    group: int  #: of robot or person; `PLANNED` walks are together
    clip: int = 0  #: a mirrored copy has its original's


def as_judged(frames: Tensor, amp: Layout) -> Tensor:
    """Frames (t - 2, F) whose joint velocities are central differences of their neighbours' positions.

    So they are in a clip; a simulated robot's are of the instant, and a judge could tell by that alone.
    """
    judged, position = frames[1:-1].clone(), amp.get(frames, "joint_position")
    amp.get(judged, "joint_velocity")[:] = (position[2:] - position[:-2]) * FPS / 2
    return judged


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
    amp = worlds.env.layouts.amp
    return [
        Walk(frames=as_judged(whole[i, first:n], amp), group=i)
        for i, n in enumerate(lasted.tolist())
        if n - first >= HALF + 2
    ]


def reference_walks(robot: RobotSpec, motion: MotionDataset, column: str) -> list[Walk]:
    """Clips of a column of Table 11 with their mirrored copies."""
    amp = layouts(robot).amp
    clips = [clip for clip in motion.clips if clip.column == column and clip.frames >= 2 * HALF]
    people = sorted({person(clip) for clip in clips if not clip.synthetic})
    walks = []
    for number, clip in enumerate(clips):
        both = MotionDataset.of(robot, [clip]).frames
        group = PLANNED if clip.synthetic else people.index(person(clip))
        walks += [
            Walk(frames=as_judged(part, amp), group=group, clip=number)
            for part in (both[: clip.frames], both[clip.frames :])
        ]
    return walks


def person(clip: Clip) -> str:
    """Who walks: a recording is named PERSON_NUMBER."""
    return clip.name.partition("_")[0]


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """Which windows count, by their own speed."""

    speed: float  #: m/s
    reach: float  #: m/s to either side

    def hold(self, speeds: Tensor) -> Tensor:
        return (speeds - self.speed).abs() <= self.reach


ANY = Speeds(speed=0.0, reach=inf)


def matching(walks: list[Walk], amp: Layout, speed: float, least: int = LEAST_PEOPLE) -> Speeds:
    """The narrowest span around `speed` in which at least so many people of the reference walk."""
    spans = (Speeds(speed=speed, reach=reach) for reach in NEAR)
    return next(s for s in spans if s.reach == inf or _groups(windows_of(walks, amp, s)) >= least)


def _groups(side: Side) -> int:
    return len(side.group.unique())


def _speeds(walk: Walk, amp: Layout) -> Tensor:
    """(t,) m/s over the ground, mean of the `STRIDE_FRAMES` around each frame as far as there are any."""
    ahead = amp.get(walk.frames, "base_velocity")[:, :2].norm(dim=-1)
    sums = torch.cat((ahead.new_zeros(1), ahead.cumsum(0)))
    at = torch.arange(len(ahead))
    low = (at - STRIDE_FRAMES // 2).clamp_min(0)
    high = (at + STRIDE_FRAMES // 2).clamp_max(len(ahead))
    return (sums[high] - sums[low]) / (high - low)


def windows_of(
    walks: list[Walk], amp: Layout, speeds: Speeds = ANY, half: int | None = None, only: str | None = None
) -> Side:
    """Windows as the discriminators see them, without the base velocity, which a command can give away.

    half 0 or 1: only windows inside every other piece of `HALF` frames, so that the halves share no frame.
    only: this quantity and nothing else.
    """
    names = [only] if only else [segment.name for segment in amp if segment.name != "base_velocity"]
    kept = torch.zeros(amp.size, dtype=torch.bool)
    for name in names:
        kept[amp.slice(name)] = True
    reach = (WINDOW - 1) * STRIDE
    windows = [torch.empty(0, WINDOW, int(kept.sum()))]
    groups = [torch.empty(0, dtype=torch.long)]
    for walk in walks:
        start = torch.arange(0, len(walk.frames) - reach, EVERY)
        if half is not None:
            piece, last = start // HALF, (start + reach) // HALF
            start = start[(piece == last) & (piece % 2 == half)]
        start = start[speeds.hold(_speeds(walk, amp)[start + reach // 2])]
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


def basis(motion: Path) -> str:
    """Digest of what a verdict depends on besides the policy: the motion file and the judge's own code."""
    total = hashlib.sha256()
    for file in (motion, Path(__file__), Path(fresh_judge.__file__)):
        total.update(file.read_bytes())
    return total.hexdigest()


def compare(subject: Subject, motion: MotionDataset, seed: int, speed: float) -> dict[str, Any]:
    """Everything about the walk on level ground beside the reference's.

    Where too few robots stay up and walk equally fast: their number, and no `judge`.
    """
    amp = layouts(subject.robot).amp
    walks = policy_walks(subject, Course.of("flat"), seed, speed)
    reference = reference_walks(subject.robot, motion, "forward")
    paces = torch.stack([_speeds(walk, amp).mean() for walk in walks] or [torch.tensor(0.0)])
    near = matching(reference, amp, float(paces.median()))
    robots = _groups(windows_of(walks, amp, near))
    if robots < LEAST_ROBOTS:
        return {"robots": robots, "of": ROBOTS, "judge": None}
    told = lambda only: tell_apart(
        windows_of(walks, amp, near, only=only), windows_of(reference, amp, near, only=only), seed
    )
    alike = [walk for walk in reference if bool(near.hold(_speeds(walk, amp).mean()))] or reference
    parts = [segment.name for segment in amp if segment.name != "base_velocity"]
    return {
        "speed": speed,
        "reach": near.reach if near.reach < inf else None,
        "robots": robots,
        "of": ROBOTS,
        "people": _groups(windows_of(reference, amp, near)),
        "clips": len({walk.clip for walk in alike}),
        "judge": _numbers(told(None)),
        "judge_by_quantity": {name: _numbers(told(name)) for name in parts},
        "judge_of_halves": against_itself(reference, amp, near, seed),
        "judge_of_person": one_against_others(reference, amp, near.speed, seed),
        "policy": describe(walks, subject.robot),
        "reference": describe(alike, subject.robot),
    }


def against_itself(walks: list[Walk], amp: Layout, near: Speeds, seed: int) -> list[float] | None:
    """How well two halves of the same people's walks are told apart; None if there are too few people."""
    halves = [windows_of(walks, amp, near, half) for half in (0, 1)]
    shared = set(halves[0].group.tolist()) & set(halves[1].group.tolist())
    if len(shared) < LEAST_GROUPS:
        return None
    both = [walk for walk in walks if walk.group in shared]
    one, other = (windows_of(both, amp, near, half) for half in (0, 1))
    return _numbers(tell_apart(one, other, seed))


def one_against_others(walks: list[Walk], amp: Layout, speed: float, seed: int) -> list[float] | None:
    """How well the person with most clips is told from the others; None if there are too few of either.

    What a judge makes of people who all walk well: a policy told apart no better passes for one of them. From
    two or three people a judge learns who they are and nothing about others, so more of them are asked for.
    """
    near = matching(walks, amp, speed, JUDGED_PEOPLE)
    by_clip = lambda group: windows_of(
        [replace(walk, group=walk.clip) for walk in walks if walk.group == group], amp, near
    )
    sides = {group: by_clip(group) for group in sorted({walk.group for walk in walks} - {PLANNED})}
    most = max(sides, key=lambda group: _groups(sides[group]))
    others = windows_of([walk for walk in walks if walk.group != most], amp, near)
    if min(_groups(sides[most]), _groups(others)) < LEAST_GROUPS:
        return None
    return _numbers(tell_apart(sides[most], others, seed))


def _numbers(estimate: Estimate) -> list[float]:
    """Value and both ends of its interval."""
    return [round(x, 4) for x in (estimate.value, estimate.low, estimate.high)]

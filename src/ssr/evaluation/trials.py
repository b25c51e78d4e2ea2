"""A batch of trials of one policy on one course, and what is written down about each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import FootRecorder
from ssr.evaluation.gait import GaitRecorder
from ssr.evaluation.paid_style import StyleMeter
from ssr.evaluation.ramps import ramps_of
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import CHUNK, TrialWorlds, worlds_for
from ssr.learning.algorithm import Actor, StyleJudge
from ssr.task.env import TraversalEnv
from ssr.task.terminations import BEHIND_START
from ssr.task.transition import Transition

FELL, LEFT, LASTED = 0, 1, 2  #: how a trial ended: fallen, off the strip's ends, or not at all
REPORT_STEPS = 25  #: control steps between two reports of progress


@dataclass(frozen=True, kw_only=True)
class Trials:
    """n trials, first to last, with their f footholds and s stances; `*_trial` count from the first."""

    ending: np.ndarray  #: (n,) int8: FELL, LEFT or LASTED
    seconds: np.ndarray  #: (n,) float64, until the end
    distance: np.ndarray  #: (n,) float32, m along the strip
    power: np.ndarray  #: (n,) float64, W, mean over the trial
    first_edge: np.ndarray  #: (n,) float32, m, where the obstacles of its strip begin
    last_edge: np.ndarray  #: (n,) float32, m, where they end
    drift: np.ndarray  #: (n,) float32, m to the left, from the first step to the last
    walk_seconds: np.ndarray  #: (n,) float64; this and the next five as in `gait.WalkSums`
    walk_distance: np.ndarray  #: (n,) float64, m
    walk_steps: np.ndarray  #: (n,) int32
    walk_air: np.ndarray  #: (n,) float64, foot-seconds
    walk_double_support: np.ndarray  #: (n,) float64, s
    walk_flight: np.ndarray  #: (n,) float64, s
    style_paid: np.ndarray  #: (n,) float64, style reward summed over its windows
    style_windows: np.ndarray  #: (n,) int32; none where the judge is not known
    foothold_trial: np.ndarray  #: (f,) int32
    foothold_foot: np.ndarray  #: (f,) int8, right 0, left 1
    foothold_step: np.ndarray  #: (f,) int16
    foothold_position: np.ndarray  #: (f, 2) float32, m, tile frame
    foothold_yaw: np.ndarray  #: (f,) float32
    foothold_support: np.ndarray  #: (f,) float32
    stance_trial: np.ndarray  #: (s,) int32
    stance_foot: np.ndarray  #: (s,) int8
    stance_peak: np.ndarray  #: (s,) float32, N

    @property
    def count(self) -> int:
        return len(self.ending)

    @property
    def success(self) -> np.ndarray:
        return self.ending == LASTED

    def first(self, count: int) -> Trials:
        """Only the first `count` trials."""
        own = {"foothold": self.foothold_trial < count, "stance": self.stance_trial < count}
        chosen = {}
        for f in fields(self):
            part = f.name.partition("_")[0]
            chosen[f.name] = getattr(self, f.name)[own[part] if part in own else slice(count)]
        return Trials(**chosen)

    @staticmethod
    def joined(parts: list[Trials]) -> Trials:
        """Parts that follow each other."""
        offsets = np.cumsum([0, *(part.count for part in parts[:-1])])
        joined = {}
        for f in fields(Trials):
            values = [getattr(part, f.name) for part in parts]
            if f.name.endswith("_trial"):
                values = [v + np.int32(offset) for v, offset in zip(values, offsets, strict=True)]
            joined[f.name] = np.concatenate(values)
        return Trials(**joined)


def run_trials(
    subject: Subject,
    course: Course,
    conditions: Conditions,
    first: int,
    count: int,
    report: Callable[[int], None] = lambda steps: None,
    chunk: int = CHUNK,
) -> Trials:
    """Trials `first` to `first + count` of a course, all of one chunk.

    `report` hears of control steps done, those of resting worlds included.
    """
    worlds = worlds_for(subject, course, conditions, first, count, chunk)
    return follow(worlds, subject.actor(), first % chunk, count, report, subject.style_judge)


def follow(
    worlds: TrialWorlds,
    actor: Actor,
    offset: int,
    count: int,
    report: Callable[[int], None] = lambda steps: None,
    style_judge: StyleJudge | None = None,
) -> Trials:
    """The trials of the worlds `offset` to `offset + count`, from their beginning to their end.

    style_judge: whose style reward is worked out besides.
    """
    env, chunk = worlds.env, worlds.env.num_envs
    total = env.config.control_steps(worlds.conditions.seconds)
    actor.begin(chunk)
    recorder = FootRecorder(chunk, env.layouts.privileged, ramps_of(env, worlds.tiles))
    walk = GaitRecorder(chunk)
    style = StyleMeter(style_judge, chunk, env.config.control_period)
    ending = torch.full((chunk,), LASTED, dtype=torch.int8)
    steps = torch.zeros(chunk, dtype=torch.int32)
    distance, work = torch.zeros(chunk), torch.zeros(chunk, dtype=torch.float64)
    reported = 0
    observation = worlds.begin()
    for number in range(1, total + 1):
        running = worlds.running
        transition = worlds.step(actor.act(observation))
        recorder.observe(transition, running)
        walk.observe(transition)
        style.observe(transition, running)
        steps += running
        distance = torch.where(running & transition.valid, worlds.covered, distance)
        work += torch.where(running & transition.valid, transition.power, 0.0)
        ending = torch.where(running & transition.terminated, _cause(transition, env), ending)
        if not bool(worlds.running.any()):
            break
        if number % REPORT_STEPS == 0:
            report(REPORT_STEPS * count)
            reported = number
        observation = worlds.observe()
    report((total - reported) * count)
    mine = slice(offset, offset + count)
    gait = {f"walk_{name}": v[mine] for name, v in vars(walk.gait(steps, env.config.control_period)).items()}
    return _written(
        recorder,
        mine.start,
        ending=ending[mine].numpy(),
        seconds=steps[mine].numpy() * env.config.control_period,
        distance=distance[mine].numpy(),
        power=(work / steps.clamp(min=1))[mine].numpy(),
        first_edge=env.field.first_edge[mine].numpy().copy(),
        last_edge=env.field.last_edge[mine].numpy().copy(),
        drift=walk.drift(steps)[mine],
        style_paid=style.paid[mine],
        style_windows=style.windows[mine],
        **gait,
    )


def _cause(transition: Transition, env: TraversalEnv) -> Tensor:
    """(n,) why a trial that was terminated ended."""
    x = transition.base_position[:, 0]
    outside = (x > env.field.length) | (x < -BEHIND_START)
    return torch.where(outside & transition.valid, LEFT, FELL).to(torch.int8)


def _written(recorder: FootRecorder, offset: int, **per_trial: np.ndarray) -> Trials:
    """Trials with the footholds and stances of worlds from `offset` on."""
    footholds, stances = recorder.footholds(), recorder.stances()
    return Trials(
        **per_trial,
        foothold_trial=footholds.world - np.int32(offset),
        foothold_foot=footholds.foot,
        foothold_step=footholds.step,
        foothold_position=footholds.position,
        foothold_yaw=footholds.yaw,
        foothold_support=footholds.support,
        stance_trial=stances.world - np.int32(offset),
        stance_foot=stances.foot,
        stance_peak=stances.peak,
    )

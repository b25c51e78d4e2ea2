"""A batch of trials of one policy on one course, and what is written down about each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import FootRecorder
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import TrialWorlds, seed_of, strips_for
from ssr.task.terminations import BEHIND_START

FELL, LEFT, LASTED = 0, 1, 2  #: how a trial ended: fallen, off the strip's sides or back, or not at all
REPORT_STEPS = 25  #: control steps between two reports of progress


@dataclass(frozen=True, kw_only=True)
class Trials:
    """n trials, first to last, with their f footholds and s stances; `*_trial` count from the first."""

    ending: np.ndarray  #: (n,) int8: FELL, LEFT or LASTED
    seconds: np.ndarray  #: (n,) float64, until the end
    distance: np.ndarray  #: (n,) float32, m along the strip
    power: np.ndarray  #: (n,) float64, W, mean over the trial
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
) -> Trials:
    """Trials `first` to `first + count` of a course. `report` hears of control steps done, rests included."""
    numbers = range(first, first + count)
    strips = strips_for(course, [seed_of("strip", conditions.seed, course.key, i) for i in numbers])
    seeds = [seed_of("trial", conditions.seed, course.key, i) for i in numbers]
    worlds = TrialWorlds(subject.robot, subject.task, subject.camera, strips, seeds, conditions)
    env = worlds.env
    actor = subject.actor()
    actor.begin(count, first)
    recorder = FootRecorder(count, env.layouts.privileged)
    ending = torch.full((count,), LASTED, dtype=torch.int8)
    steps = torch.zeros(count, dtype=torch.int32)
    distance, work = torch.zeros(count), torch.zeros(count, dtype=torch.float64)

    total = env.config.control_steps(conditions.seconds)
    observation = worlds.begin()
    for number in range(1, total + 1):
        running = worlds.running
        transition = worlds.step(actor.act(observation))
        recorder.observe(transition, running)
        steps += running
        distance = torch.where(running & transition.valid, env.progress.covered, distance)
        work += torch.where(running & transition.valid, transition.power, 0.0)
        aside = transition.base_position[:, 1].abs() > env.field.half_width
        behind = transition.base_position[:, 0] < -BEHIND_START
        cause = torch.where((aside | behind) & transition.valid, LEFT, FELL).to(torch.int8)
        ending = torch.where(running & transition.terminated, cause, ending)
        if not bool(worlds.running.any()):
            report((total - number) * count + (number % REPORT_STEPS or REPORT_STEPS) * count)
            break
        if number % REPORT_STEPS == 0:
            report(REPORT_STEPS * count)
        observation = worlds.observe()
    footholds, stances = recorder.footholds(), recorder.stances()
    return Trials(
        ending=ending.numpy(),
        seconds=steps.numpy() * env.config.control_period,
        distance=distance.numpy(),
        power=(work / steps.clamp(min=1)).numpy(),
        foothold_trial=footholds.world,
        foothold_foot=footholds.foot,
        foothold_step=footholds.step,
        foothold_position=footholds.position,
        foothold_yaw=footholds.yaw,
        foothold_support=footholds.support,
        stance_trial=stances.world,
        stance_foot=stances.foot,
        stance_peak=stances.peak,
    )

"""How close evaluation comes to the speed of raw physics, and what 1,000 trials cost."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median

import torch
from torch import Tensor

from ssr.benchmarks.blocks import Rounds, alternate, median_ratio
from ssr.benchmarks.replay import Replay
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import FootRecorder
from ssr.evaluation.scripted import stiff_task
from ssr.evaluation.worlds import CHUNK, TrialWorlds, strips_for
from ssr.learning import presets
from ssr.learning.ssr_policy import SSRActor, network_config
from ssr.networks.build import Networks
from ssr.ranges import checked
from ssr.robots import load

BLOCK = 25  #: control steps per timed block
TIMIDITY = 0.05  #: of the untrained network's actions, so that stiff robots stay up and no world rests
TRIALS, SECONDS = 1000, 20.0


@checked
def run(rounds: Rounds = 5) -> dict[str, float]:
    """Control steps per second on one core: trials on stairs with the `cpu` network, and physics alone.

    `raw` replays the joint targets recorded just before, from the same states, in the same worlds. Evaluation
    runs one such process per core.
    """
    torch.set_num_threads(1)
    trials = EndlessTrials(Course.of("stairs_up", 0.15, 0.30))
    rates = alternate({"trials": trials.go_on, "raw": trials.replay}, rounds)
    steps = TRIALS * SECONDS / trials.worlds.env.config.control_period
    return {
        "raw_steps_per_s": round(median(rates["raw"]), 1),
        "trial_steps_per_s": round(median(rates["trials"]), 1),
        "ratio": round(median_ratio(rates, "trials", "raw"), 4),
        "cpu_minutes_per_1000_trials": round(steps * median(trials.cpu_seconds) / 60, 2),
        "minutes_per_1000_trials_on_two_cores": round(steps / (2 * median(rates["trials"])) / 60, 2),
    }


class EndlessTrials:
    """One chunk of trials that goes on for ever."""

    def __init__(self, course: Course) -> None:
        config = presets.preset("cpu")
        robot = load(config.robot)
        torch.manual_seed(0)
        self.actor = SSRActor(Networks(robot, network_config(config)).policy().eval())
        task = replace(stiff_task(), history=config.task.history)
        strips = strips_for(course, range(CHUNK))
        # Trials outlast the benchmark.
        self.worlds = TrialWorlds(robot, task, config.camera, strips, range(CHUNK), Conditions(seconds=3e3))
        self.recorder = FootRecorder(CHUNK, self.worlds.env.layouts.privileged)
        self.actor.begin(CHUNK)
        self.observation = self.worlds.begin()
        env = self.worlds.env
        self.raw = Replay(env.simulator, env.substeps)
        self.cpu_seconds: list[float] = []  #: per control step of one world
        self.go_on()
        self.cpu_seconds.clear()

    def go_on(self) -> int:
        worlds = self.worlds
        self.raw.begin()
        begin = time.process_time()
        for _ in range(BLOCK):
            running = worlds.running
            action: Tensor = TIMIDITY * self.actor.act(self.observation)
            transition = worlds.step(action)
            self.recorder.observe(transition, running)
            self.raw.stepped()
            self.observation = worlds.observe()
        self.cpu_seconds.append((time.process_time() - begin) / (BLOCK * CHUNK))
        return BLOCK * CHUNK

    def replay(self) -> int:
        self.raw.run()
        return BLOCK * CHUNK

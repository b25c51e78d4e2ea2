"""Troubles of the body: shoves, shaking ground, loads, slippery patches, a weak joint."""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sin

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.stress.kind import AGAIN, ONSET, Trouble, begins, seconds
from ssr.physics.shaking import shake
from ssr.physics.simulator import Dynamics
from ssr.task.env import TraversalEnv

SHAKING = (2.0, 1.5)  #: Hz, along and across the strip: no beat repeats soon
TWISTING = 1.5  #: Hz
SHAKEN_FROM = 3.0  #: s
PATCH, EVERY = 0.8, 2.4  #: m along the strip: length of a slippery patch, and from one to the next
WEAK = "left_knee"  #: begins the name of the joint that weakens


class Shove(Trouble):
    """So many m/s at once, in a direction seen from the robot; at 6 s, 12 s and 18 s."""

    towards = 0.0  #: rad from where it heads

    def act(self, env: TraversalEnv, step: int) -> None:
        since = step - env.config.control_steps(ONSET)
        if since < 0 or since % env.config.control_steps(AGAIN) or self.dose == 0:
            return
        angle = env.simulator.readout.reading.yaw.astype(np.float64) + self.towards
        velocity = self.dose * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
        env.simulator.push(torch.arange(env.num_envs), torch.from_numpy(velocity).float())


class ShoveAside(Shove):
    towards = pi / 2


class ShakingGround(Trouble):
    """The ground accelerates to and fro, along and across, by so many m/s² at most."""

    def act(self, env: TraversalEnv, step: int) -> None:
        t = seconds(env, step)
        if t < SHAKEN_FROM:
            return
        along, across = (self.dose * sin(2 * pi * rate * (t - SHAKEN_FROM)) for rate in SHAKING)
        shake(env.simulator, np.array([along, across]), 0.0)


class TwistingGround(Trouble):
    """The ground turns to and fro about the vertical under the base, by so many rad/s² at most."""

    def act(self, env: TraversalEnv, step: int) -> None:
        t = seconds(env, step)
        if t >= SHAKEN_FROM:
            shake(env.simulator, np.zeros(2), self.dose * cos(2 * pi * TWISTING * (t - SHAKEN_FROM)))


class Load(Trouble):
    """From one step to the next the base weighs so many kg more."""

    def act(self, env: TraversalEnv, step: int) -> None:
        if begins(env, step):
            dynamics = _known(env)
            change(env, replace(dynamics, base_added_mass=dynamics.base_added_mass + self.dose))


class WeakJoint(Trouble):
    """The left knee's drive loses this share of its strength."""

    def act(self, env: TraversalEnv, step: int) -> None:
        if begins(env, step):
            dynamics = _known(env)
            joint = next(i for i, name in enumerate(env.robot.joint_names) if name.startswith(WEAK))
            strength = dynamics.motor_strength.clone()
            strength[:, joint] *= 1.0 - self.dose
            change(env, replace(dynamics, motor_strength=strength))


class Patches(Trouble):
    """Ground that loses this share of its friction, for 0.8 m of every 2.4 m."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self.slipping: Tensor | None = None
        self.usual: Tensor | None = None

    def act(self, env: TraversalEnv, step: int) -> None:
        x = torch.from_numpy(env.simulator.readout.reading.base_position[:, 0].copy())
        if self.usual is None or self.slipping is None or step == 0:
            self.usual, self.slipping = _known(env).friction.clone(), torch.zeros(len(x), dtype=torch.bool)
        on = (x > env.field.first_edge) & ((x - env.field.first_edge) % EVERY < PATCH)
        changed = (on != self.slipping).nonzero().squeeze(-1)
        if len(changed):
            friction = torch.where(on, self.usual * (1.0 - self.dose), self.usual)
            change(env, replace(_known(env), friction=friction), changed)
            self.slipping = on


def _known(env: TraversalEnv) -> Dynamics:
    assert env.dynamics is not None
    return env.dynamics


def change(env: TraversalEnv, dynamics: Dynamics, worlds: Tensor | None = None) -> None:
    """Give these worlds, by default all, other dynamics in mid-walk; nothing else of their state changes."""
    chosen = torch.arange(env.num_envs) if worlds is None else worlds
    kept = env.simulator.snapshot(chosen)
    env.simulator.randomize(chosen, dynamics.select(chosen))
    env.simulator.restore(kept, chosen)
    env.set_dynamics(dynamics)

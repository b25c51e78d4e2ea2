"""The environment in ten lines: four X2 on stairs and gaps, every joint held at its default."""

import sys

import gymnasium
import numpy as np

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
envs = gymnasium.make_vec(
    "ssr.task.gym:ssr/Traversal-v0", num_envs=4, robot="x2", kinds=("stairs_up", "gap"), level=3
)
observation, _ = envs.reset(seed=1)
for step in range(steps):
    action = np.zeros(envs.action_space.shape, np.float32)
    observation, reward, terminated, truncated, info = envs.step(action)
    if "final_obs" in info:
        print(f"step {step}: worlds {np.flatnonzero(info['_final_obs']).tolist()} ended")
print({name: value.shape for name, value in observation.items()}, "reward", reward.round(3))

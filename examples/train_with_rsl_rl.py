"""PPO of rsl_rl on the task: an actor that sees depth through a CNN, a critic with the privileged state.

python examples/train_with_rsl_rl.py [ITERATIONS [WORLDS [FOLDER]]]
"""

import sys

from rsl_rl.runners import OnPolicyRunner

from ssr import robots
from ssr.task.config import TaskConfig, TerrainConfig
from ssr.task.env import TraversalEnv
from ssr.task.rsl_rl import RslTraversal
from ssr.vision.camera import CameraConfig

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 300
worlds = int(sys.argv[2]) if len(sys.argv) > 2 else 256
folder = sys.argv[3] if len(sys.argv) > 3 else None

task = TaskConfig(terrain=TerrainConfig(kinds=("flat", "slope")))
env = RslTraversal(TraversalEnv(robots.load("x2"), worlds, task, camera=CameraConfig(period=5)))
network = {"hidden_dims": [256, 128], "activation": "elu", "obs_normalization": True}
sight = {"output_channels": [8, 16], "kernel_size": [5, 3], "stride": [2, 2], "activation": "elu"}
noise = {"class_name": "GaussianDistribution", "init_std": 0.8}
runner = OnPolicyRunner(
    env,
    {
        "algorithm": {"class_name": "PPO", "learning_rate": 5e-4, "entropy_coef": 0.005},
        "actor": {"class_name": "CNNModel", **network, "cnn_cfg": sight, "distribution_cfg": noise},
        "critic": {"class_name": "MLPModel", **network},
        "obs_groups": {"actor": ["policy", "depth"], "critic": ["critic"]},
        "num_steps_per_env": 24,
        "save_interval": 50,
    },
    log_dir=folder,
)
runner.learn(iterations, init_at_random_ep_len=True)

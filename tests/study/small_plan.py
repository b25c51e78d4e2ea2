"""A plan of seconds: two methods with two seeds."""

PLAN = """
preset = "smoke"
methods = ["ssr", "pim"]
seeds = [1, 2]
steps = 1_920
trials = 2
snapshots = 2
settings = ["standard"]
directions = false

[[differences]]
setting = "env.num_envs"
value = 16
reason = "seconds"

[[differences]]
setting = "encoder.minibatches"
value = 2
reason = "of 16 worlds"

[[differences]]
setting = "run.checkpoint_minutes"
value = 0.0
reason = "every iteration is saved"
"""

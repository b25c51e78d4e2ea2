"""The shipped policy walks as it did when it was shipped, whatever has been renamed since."""

from pathlib import Path

import pytest
import torch

from ssr.evaluation import subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.worlds import TrialWorlds
from ssr.physics.world import PhysicsConfig
from ssr.terrain.making import make_tile

SHIPPED = Path(__file__).parents[2] / "pretrained" / "x2"
SECONDS = 2.0
AS_SHIPPED = PhysicsConfig(iterations=5, line_search_iterations=8)  #: what solvers were given then
SAME = 0.03  #: m; another processor rounds otherwise, and walking makes more of it

# What the commit that shipped the policy gives on the tile of a level: control steps until the end, and where
# the base was then, m along the tile and to the left of its middle.
RECORDED = [
    (
        "stairs_up", 17, [100] * 6,
        [[1.8112, -0.162], [2.0406, -0.0948], [2.1412, -0.0355], [2.0957, 0.025], [1.8413, 0.1314],
         [2.2519, -0.1639]],
    ),
    (
        "platform", 19, [100, 100, 100, 79, 100, 100],
        [[1.996, -0.3694], [2.1636, 0.3326], [2.2433, -0.5804], [1.3634, 0.1964], [1.875, 0.3948],
         [2.67, -0.4957]],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "level", "steps", "position"), RECORDED)
def test_it_survives_and_gets_as_far_as_before(
    kind: str, level: int, steps: list[int], position: list[list[float]]
) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as evaluation does: products must round alike
    try:
        lasted, reached = walk(kind, level)
    finally:
        torch.set_num_threads(threads)
    assert lasted.tolist() == pytest.approx(steps, abs=2)
    assert torch.allclose(reached, torch.tensor(position), atol=SAME)


def walk(kind: str, level: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(6,) control steps and (6, 2) m of six robots, each with its own luck."""
    policy = subject.load(str(SHIPPED))
    tiles = [make_tile(kind, level, start_spread=0.0)] * 6
    conditions = Conditions(seconds=SECONDS, look_ahead=3.0)
    worlds = TrialWorlds(
        policy.robot, policy.task, policy.camera, tiles, range(6), conditions, physics=AS_SHIPPED
    )
    actor = policy.actor()
    actor.begin(6)
    observation = worlds.begin()
    lasted, reached = torch.zeros(6, dtype=torch.long), torch.zeros(6, 2)
    for _ in range(policy.task.control_steps(SECONDS)):
        running = worlds.running
        transition = worlds.step(actor.act(observation))
        lasted += running
        reached = torch.where(running[:, None], transition.base_position[:, :2], reached)
        observation = worlds.observe()
    return lasted, reached

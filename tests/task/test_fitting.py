"""Episodes that begin among obstacles begin in poses of people at such places, and can go on from there."""

import pytest
import torch

from ssr.learning.references import ReferenceStarts
from ssr.motion.dataset import MotionDataset
from ssr.robots import load
from ssr.task.config import BootstrapConfig, TaskConfig, TerrainConfig
from ssr.task.env import TraversalEnv
from ssr.task.resident_env import ResidentEnv
from ssr.terrain.edges_near import REACH

WORLDS = 32


@pytest.fixture(scope="module")
def references() -> ReferenceStarts:
    return ReferenceStarts(MotionDataset.load(load("x2")))


def begun(
    references: ReferenceStarts, kind: str, env: type[TraversalEnv] = TraversalEnv, level: int = 10
) -> TraversalEnv:
    config = TaskConfig(
        reference_starts=0.8,
        terrain=TerrainConfig(kinds=(kind,), first_level=level, midway_starts=1.0),
        bootstrap=BootstrapConfig(imitation=3.0),
    )
    made = env(load("x2"), WORLDS, config, references=references, threads=1)
    made.reset()
    return made


@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down", "platform"])
def test_they_stand_on_the_ground_and_stay_up_by_going_on_as_shown(
    references: ReferenceStarts, kind: str
) -> None:
    env = begun(references, kind)
    state = env.simulator.state()
    assert (state.base_velocity[:, 0] > 0.1).float().mean() > 0.7, "in motion"
    soles = state.sole_position
    above = soles[..., 2] - env.field.heights(soles[..., :2])
    assert above.min() > -0.03, "no sole is in the ground"
    # Heights beyond 25 cm are alike to who looks for a place: some begin above a platform that is lower.
    assert (above.min(1).values < 0.03).float().mean() > 0.6, "nor do both hang in the air"
    fallen = torch.zeros(WORLDS, dtype=torch.bool)
    for _ in range(20):
        towards = (env.imitation.arrays.soon - env.default) / env.action_scale
        fallen |= env.step(torch.from_numpy(towards)).terminated
    assert fallen.float().mean() < 0.1


def test_both_sides_lead_and_places_differ(references: ReferenceStarts) -> None:
    env = begun(references, "stairs_up")
    state = env.simulator.state()
    left = state.sole_position[:, 1, 0] > state.sole_position[:, 0, 0]
    assert 0.2 < left.float().mean() < 0.8
    assert len(state.base_position[:, 0].unique()) > 0.9 * WORLDS
    frames = env.imitation.arrays.frame
    assert (env.references.track.edges[frames, :2].min(1) < REACH).mean() > 0.7, "what is shown is near edges"


@pytest.mark.parametrize("level", [10, 19])
def test_at_gaps_nobody_is_put_into_a_pit(references: ReferenceStarts, level: int) -> None:
    env = begun(references, "gap", level=level)
    state = env.simulator.state()
    fitted = state.base_velocity[:, 0] > 0.1
    assert fitted.any()
    assert (state.base_position[:, 2] > 0.8 * env.robot.standing_height).all()
    assert (state.sole_position[..., 2].max(1).values > -0.03).all(), (
        "one foot at least is not below the edge"
    )


def test_on_a_device_too(references: ReferenceStarts) -> None:
    env = begun(references.on(torch.device("cpu")), "stairs_down", ResidentEnv)  # type: ignore[arg-type]
    state = env.simulator.renew(torch.ones(WORLDS, dtype=torch.bool))
    assert (state.base_position[:, 0] > env.field.start + 0.1).float().mean() > 0.9
    assert (state.base_velocity[:, 0] > 0.1).float().mean() > 0.7

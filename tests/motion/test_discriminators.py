"""A discriminator per terrain type, trained as the style reward does, tells its motion from other motion."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ssr import robots
from ssr.motion.dataset import OWN, TERRAIN_TYPES, MotionDataset
from ssr.symmetry.vectors import layouts

#: Terrains whose own motions differ plainly: nobody leaps on a slope, and slopes tilt feet as stairs do not.
DIFFERENT = {
    "slope": ("gap", "platform", "stairs"),
    "stairs": ("gap", "slope"),
    "discrete": ("gap", "slope"),
    "gap": ("slope", "stairs"),
    "platform": ("slope", "gap"),
}


@pytest.fixture(scope="module", params=["x2", "dr02"])
def halves(request: pytest.FixtureRequest) -> tuple[MotionDataset, MotionDataset]:
    """Three of four clips of every moving column to train on, the others held back; standing in both."""
    whole = MotionDataset.load(robots.load(request.param), mirror=False)
    train, held = [], []
    stand = [c for c in whole.clips if c.column == "stand"]
    for column in sorted({c.column for c in whole.clips} - {"stand"}):
        for k, clip in enumerate(c for c in whole.clips if c.column == column):
            (held if k % 4 == 1 else train).append(clip)
    return MotionDataset.of(whole.robot, train + stand), MotionDataset.of(whole.robot, held + stand)


def own(dataset: MotionDataset, column: str, count: int, generator: torch.Generator) -> Tensor:
    starts = dataset.starts[column][torch.randint(len(dataset.starts[column]), (count,), generator=generator)]
    return dataset.frames[starts[:, None] + 2 * torch.arange(5)]


def random_motion(windows: Tensor, dataset: MotionDataset, generator: torch.Generator) -> Tensor:
    """Joints that swing about the default pose at random, the body drifting and tilting at random."""
    layout = layouts(dataset.robot).amp
    noise = lambda *shape: torch.randn(*shape, generator=generator)
    out = windows[torch.randperm(len(windows), generator=generator)].clone()
    default = torch.from_numpy(dataset.robot.values("default")).float()
    steps = 0.15 * noise(len(out), 5, 21)
    layout.get(out, "joint_position")[:] = default + 0.3 * noise(len(out), 1, 21) + steps.cumsum(1)
    layout.get(out, "joint_velocity")[:] = steps / 0.04
    layout.get(out, "base_velocity")[:] = 0.4 * noise(len(out), 5, 3)
    layout.get(out, "angular_velocity")[:] = noise(len(out), 5, 3)
    return out


@pytest.mark.parametrize("kind", TERRAIN_TYPES)
def test_held_back_motion_is_rated_above_other_motion(
    kind: str, halves: tuple[MotionDataset, MotionDataset]
) -> None:
    train, held = halves
    generator = torch.Generator().manual_seed(7)
    torch.manual_seed(7)

    def fakes(dataset: MotionDataset, count: int) -> dict[str, Tensor]:
        reference = dataset.amp_windows(kind, count, generator)
        others = {t: own(dataset, OWN[t], count, generator) for t in DIFFERENT[kind]}
        return {
            "random": random_motion(reference, dataset, generator),
            "standing": own(dataset, "stand", count, generator),
            **others,
        }

    real = train.amp_windows(kind, 6000, generator).flatten(1)
    fake = torch.cat(list(fakes(train, 1500).values())).flatten(1)
    mean, std = real.mean(0), real.std(0).clamp(min=0.02)
    normalised = lambda w: ((w.flatten(1) - mean) / std).clamp(-10, 10)
    real, fake = normalised(real), normalised(fake)
    network = nn.Sequential(nn.Linear(315, 128), nn.ELU(), nn.Linear(128, 64), nn.ELU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=1e-4)
    draw = lambda pool: pool[torch.randint(len(pool), (256,), generator=generator)]
    for _ in range(250):
        loss = 0.5 * ((network(draw(real)) - 1) ** 2).mean() + 0.5 * ((network(draw(fake)) + 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        score = lambda w: float(network(normalised(w)).mean())
        reference = score(held.amp_windows(kind, 2000, generator))
        terrain = score(own(held, OWN[kind], 2000, generator))
        for name, windows in fakes(held, 2000).items():
            assert reference > score(windows) + 0.15, f"{kind}: reference {reference:.2f}, {name}"
            assert terrain > score(windows) + 0.15, f"{kind}: own {terrain:.2f}, {name}"

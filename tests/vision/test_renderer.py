"""Depth images are what MuJoCo's rays measure, whichever way they are made."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ssr.errors import UserError
from ssr.robots.spec import Shape
from ssr.terrain.making import make_tile
from ssr.vision.renderer import DepthRenderer

BACKENDS = ("compiled", "warp")
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
NEAR, FAR = 0.1, 3.0


def neighbourhood(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest depth among each pixel and its eight neighbours."""
    padded = np.pad(depth, ((0, 0), (1, 1), (1, 1)), mode="edge")
    height, width = depth.shape[1:]
    shifted = [padded[:, r : r + height, c : c + width] for r in range(3) for c in range(3)]
    return np.min(shifted, axis=0), np.max(shifted, axis=0)


def check_agreement(ours: np.ndarray, reference: np.ndarray, tolerance: float) -> None:
    """99.9 % of pixels within the tolerance, the others on silhouettes: between their neighbours' depths."""
    wrong = np.abs(ours - reference) > tolerance
    assert wrong.mean() <= 1e-3
    low, high = neighbourhood(reference)
    between = (ours >= low - tolerance) & (ours <= high + tolerance)
    assert between[wrong].all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["x2_gallery", "dr02_gallery"])
def test_images_are_what_mujoco_measures(name: str, backend: str, request: pytest.FixtureRequest) -> None:
    gallery = request.getfixturevalue(name)
    depth, robot = gallery.mujoco()
    ours = gallery.scenes.render(gallery.scenes.renderer(backend=backend)).numpy()
    assert robot.mean() > 0.05  # the robot sees itself
    # From inside a solid MuJoCo looks out of it; our rule is `near` (tested below).
    buried = (ours == np.float32(NEAR)).all((1, 2))
    assert buried.mean() < 0.1
    check_agreement(ours[~buried], depth[~buried], 1e-3)


@pytest.mark.parametrize("name", ["x2_gallery", "dr02_gallery"])
def test_every_path_gives_the_same_image(name: str, request: pytest.FixtureRequest) -> None:
    scenes = request.getfixturevalue(name).scenes
    compiled = scenes.render(scenes.renderer(backend="compiled"))
    assert torch.equal(compiled, scenes.render(scenes.renderer(backend="compiled", threads=3)))
    check_agreement(scenes.render(scenes.renderer(backend="warp")).numpy(), compiled.numpy(), 1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_single_precision_poses_give_the_same_image(x2_gallery, backend: str) -> None:
    scenes = x2_gallery.scenes
    renderer = scenes.renderer(backend=backend)
    poses = (scenes.camera_position, scenes.camera_quaternion, scenes.tan_half_fov)
    links = (scenes.link_position, scenes.link_quaternion)
    single = renderer.render(
        *(p.float() for p in poses), scenes.terrain.boxes, scenes.terrain.count,
        *(p.float() for p in links), torch.arange(len(scenes.tiles)),
    )  # fmt: skip
    check_agreement(single.numpy(), scenes.render(renderer).numpy(), 1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_image_belongs_to_the_world_it_was_asked_for(x2_gallery, backend: str) -> None:
    scenes = x2_gallery.scenes
    renderer = scenes.renderer(backend=backend)
    everything = scenes.render(renderer)
    asked = torch.tensor([17, 3, 200, 3])
    some = renderer.render(
        scenes.camera_position[asked], scenes.camera_quaternion[asked], scenes.tan_half_fov[asked],
        scenes.terrain.boxes, scenes.terrain.count, scenes.link_position, scenes.link_quaternion, asked,
    )  # fmt: skip
    assert torch.equal(some, everything[asked])


# ---- single rays, worked out by hand ----------------------------------------------------------------------


def look(
    backend: str,
    shapes: tuple[Shape, ...] = (),
    boxes: torch.Tensor | None = None,
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    quaternion: tuple[float, float, float, float] = UPRIGHT,
    tan_half_fov: tuple[float, float] = (0.5, 0.5),
    pixels: int = 1,
) -> torch.Tensor:
    """The image of a camera at `position`, by default looking straight down with +y at the image's top."""
    renderer = DepthRenderer(shapes, ["link"], height=pixels, width=pixels, backend=backend)
    boxes = torch.zeros(0, 8) if boxes is None else boxes
    return renderer.render(
        torch.tensor([position], dtype=torch.float64),
        torch.tensor([quaternion], dtype=torch.float64),
        torch.tensor([tan_half_fov], dtype=torch.float64),
        boxes[None].float(),
        torch.tensor([len(boxes)], dtype=torch.int32),
        torch.zeros(1, 1, 3, dtype=torch.float64),
        torch.tensor([[UPRIGHT]], dtype=torch.float64),
        torch.tensor([0]),
    )[0]


def shape(kind: str, size: tuple[float, ...], position=(0.0, 0.0, 0.0), quaternion=UPRIGHT) -> Shape:
    return Shape(link="link", kind=kind, position=position, quaternion=quaternion, size=size)


LYING = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # z turned to x

SOLIDS = {
    "sphere": (shape("sphere", (0.2,)), 0.2),
    "standing capsule": (shape("capsule", (0.1, 0.3)), 0.4),
    "lying capsule": (shape("capsule", (0.1, 0.3), quaternion=LYING), 0.1),
    "standing cylinder": (shape("cylinder", (0.1, 0.3)), 0.3),
    "lying cylinder": (shape("cylinder", (0.1, 0.3), quaternion=LYING), 0.1),
    "box": (shape("box", (0.1, 0.2, 0.3)), 0.3),
    "lying box": (shape("box", (0.1, 0.2, 0.3), quaternion=LYING), 0.1),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SOLIDS)
def test_a_solid_below_the_camera_is_as_far_as_its_top(backend: str, name: str) -> None:
    solid, top = SOLIDS[name]
    assert look(backend, (solid,), position=(0.0, 0.0, 1.5)).item() == pytest.approx(1.5 - top, abs=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SOLIDS)
def test_a_camera_inside_a_solid_sees_near(backend: str, name: str) -> None:
    solid, _ = SOLIDS[name]
    assert (look(backend, (solid,), position=(0.05, 0.02, 0.03), pixels=9) == NEAR).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_camera_inside_terrain_sees_near(backend: str) -> None:
    box = torch.tensor([[0.0, 0.0, -1.0, 2.0, 2.0, 1.0, 0.3, 0.0]])
    assert (look(backend, boxes=box, position=(0.2, 0.1, -0.5), pixels=9) == NEAR).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SOLIDS)
def test_a_ray_that_meets_nothing_is_far(backend: str, name: str) -> None:
    solid, _ = SOLIDS[name]
    behind = look(backend, (solid,), position=(0.0, 0.0, -1.0), pixels=9)
    beside = look(backend, (solid,), position=(5.0, 0.0, 1.0), pixels=9)
    beyond = look(backend, (solid,), position=(0.0, 0.0, 4.0), pixels=9)
    assert (torch.stack([behind, beside, beyond]) == FAR).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_depth_is_along_the_view_not_along_the_ray(backend: str) -> None:
    """A wall square to the view is equally deep everywhere, though its edges are farther away."""
    floor = torch.tensor([[0.0, 0.0, -1.0, 9.0, 9.0, 1.0, 0.0, 0.0]])
    image = look(backend, boxes=floor, position=(0.0, 0.0, 2.0), tan_half_fov=(1.5, 1.5), pixels=12)
    assert torch.allclose(image, torch.full_like(image, 2.0), atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_row_0_is_the_top_and_column_0_the_left(backend: str) -> None:
    """Looking down with the image's top towards +y: x grows to the right, y upwards."""
    block = torch.tensor([[-0.5, 0.5, 0.0, 0.3, 0.3, 0.5, 0.0, 0.0]])
    image = look(backend, boxes=block, position=(0.0, 0.0, 1.5), tan_half_fov=(1.0, 1.0), pixels=8)
    assert (image[:4, :4] < FAR).any()
    assert (image[4:] == FAR).all() and (image[:, 4:] == FAR).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pitched_box_rises_forward_if_its_pitch_is_negative(backend: str) -> None:
    ramp = torch.tensor([[0.0, 0.0, 0.0, 2.0, 2.0, 0.1, -0.3, 0.0]])
    top = lambda x: np.tan(0.3) * x + 0.1 / np.cos(0.3)
    for x in (-0.5, 0.0, 0.7):
        depth = look(backend, boxes=ramp, position=(x, 0.0, 1.5)).item()
        assert depth == pytest.approx(1.5 - top(x), abs=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nearer_than_near_reads_near(backend: str) -> None:
    floor = torch.tensor([[0.0, 0.0, -1.0, 1.0, 1.0, 1.0, 0.0, 0.0]])
    assert look(backend, boxes=floor, position=(0.0, 0.0, 0.04)).item() == np.float32(NEAR)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_world_that_blew_up_does_not_reach_the_images(x2_gallery, backend: str) -> None:
    scenes = x2_gallery.scenes
    links = scenes.link_position[:3].clone()
    camera = scenes.camera_position[:3].clone()
    links[1], camera[1] = torch.nan, torch.nan
    images = scenes.renderer(backend=backend).render(
        camera, scenes.camera_quaternion[:3], scenes.tan_half_fov[:3], scenes.terrain.boxes[:3],
        scenes.terrain.count[:3], links, scenes.link_quaternion[:3], torch.arange(3),
    )  # fmt: skip
    assert ((images >= NEAR) & (images <= FAR)).all()
    assert torch.equal(images[::2], scenes.render(scenes.renderer(backend=backend))[:3:2])


def test_mistakes_are_said_in_one_line() -> None:
    with pytest.raises(UserError, match="Unknown depth renderer: 'embree'"):
        DepthRenderer((), (), backend="embree")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="near must be positive"):
        DepthRenderer((), (), near=3.0, far=0.1)
    with pytest.raises(UserError, match="Unknown link of a shape"):
        DepthRenderer((shape("sphere", (0.1,)),), ("pelvis",))
    with pytest.raises(UserError, match="2 positive lengths"):
        DepthRenderer((shape("capsule", (0.1,)),), ("link",))


def test_parked_boxes_are_never_seen() -> None:
    tile = make_tile("stairs_up", 5)
    rows = torch.tensor(tile.rows(24))
    used = rows[: len(tile.boxes)]
    at = (1.2, 0.0, 0.7)
    assert torch.equal(
        look("compiled", boxes=rows, position=at, pixels=36),
        look("compiled", boxes=used, position=at, pixels=36),
    )

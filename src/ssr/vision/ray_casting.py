"""Depth images as a Warp kernel, one thread per pixel (Algorithm 1, Appendix C), for CUDA and CPU devices.

Terrain boxes and link shapes stay in their own frames and are intersected there in closed form; only rays
move, so nothing is rebuilt between frames. Directions have a forward component of 1, so a ray's parameter is
its z-depth.
"""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type, misc, assignment, arg-type"

import warp as wp

from ssr.vision.solids import BOX, CAPSULE, SPHERE

NEVER = wp.constant(1.0e9)  # m, further than anything


@wp.struct
class Frame:
    """A solid as one image's camera sees it."""

    origin: wp.vec3  # the camera in the solid's frame
    turn: wp.mat33  # from camera axes to the solid's
    size: wp.vec3
    kind: wp.int32


@wp.struct
class Solids:
    """`LinkSolids` on the device."""

    kind: wp.array(dtype=wp.int32)
    link: wp.array(dtype=wp.int32)
    position: wp.array(dtype=wp.vec3)
    rotation: wp.array(dtype=wp.mat33)
    size: wp.array(dtype=wp.vec3)
    bound: wp.array(dtype=wp.vec3)


@wp.func
def matrix(q: wp.vec4):
    """Rotation matrix of a w, x, y, z quaternion."""
    return wp.quat_to_matrix(wp.normalize(wp.quat(q[1], q[2], q[3], q[0])))


@wp.kernel(enable_backward=False)
def place(
    camera_position: wp.array(dtype=wp.vec3),
    camera_quaternion: wp.array(dtype=wp.vec4),
    env_ids: wp.array(dtype=wp.int64),
    boxes: wp.array3d(dtype=wp.float32),
    link_position: wp.array2d(dtype=wp.vec3),
    link_quaternion: wp.array2d(dtype=wp.vec4),
    solids: Solids,
    frames: wp.array2d(dtype=Frame),
    bounds: wp.array2d(dtype=wp.vec4),
):
    """One thread per image and solid: the pool's boxes first, then the link shapes."""
    image, k = wp.tid()
    env = int(env_ids[image])
    if env < 0:
        return
    pool = boxes.shape[1]
    frame = Frame()
    if k < pool:
        at = wp.vec3(boxes[env, k, 0], boxes[env, k, 1], boxes[env, k, 2])
        c = wp.cos(boxes[env, k, 6])
        s = wp.sin(boxes[env, k, 6])
        a = wp.cos(boxes[env, k, 7])
        b = wp.sin(boxes[env, k, 7])
        axes = wp.mat33(a * c, -b, a * s, b * c, a, b * s, -s, 0.0, c)
        frame.size = wp.vec3(boxes[env, k, 3], boxes[env, k, 4], boxes[env, k, 5])
        frame.kind = BOX
        reach = 1.001 * wp.length(frame.size)
    else:
        shape = k - pool
        link = solids.link[shape]
        turn = matrix(link_quaternion[env, link])
        at = link_position[env, link] + turn * solids.position[shape]
        axes = turn * solids.rotation[shape]
        frame.size = solids.size[shape]
        frame.kind = solids.kind[shape]
        reach = 1.001 * wp.length(solids.bound[shape])
    inverse = wp.transpose(axes)
    view = matrix(camera_quaternion[image])
    frame.origin = inverse * (camera_position[image] - at)
    frame.turn = inverse * view
    frames[image, k] = frame
    center = wp.transpose(view) * (at - camera_position[image])
    bounds[image, k] = wp.vec4(center[0], center[1], center[2], reach)


@wp.func
def slab(o: float, d: float, half: float):
    """Interval of the ray within |coordinate| ≤ half."""
    if d == 0.0:
        if wp.abs(o) <= half:
            return wp.vec2(-NEVER, NEVER)
        return wp.vec2(NEVER, -NEVER)
    a = (-half - o) / d
    b = (half - o) / d
    return wp.vec2(wp.min(a, b), wp.max(a, b))


@wp.func
def round_side(a: float, b: float, c: float):
    """Interval in which a t² + 2 b t + c ≤ 0."""
    if a == 0.0:
        if c <= 0.0:
            return wp.vec2(-NEVER, NEVER)
        return wp.vec2(NEVER, -NEVER)
    square = b * b - a * c
    if square < 0.0:
        return wp.vec2(NEVER, -NEVER)
    root = wp.sqrt(square)
    return wp.vec2((-b - root) / a, (-b + root) / a)


@wp.func
def entry(span: wp.vec2):
    """Where a ray first is inside a solid it passes within `span`; 0 if it starts inside."""
    if span[0] > span[1] or span[1] < 0.0:
        return NEVER
    return wp.max(span[0], 0.0)


@wp.func
def overlap(a: wp.vec2, b: wp.vec2):
    return wp.vec2(wp.max(a[0], b[0]), wp.min(a[1], b[1]))


@wp.func
def ball(o: wp.vec3, d: wp.vec3, radius: float):
    return entry(round_side(wp.dot(d, d), wp.dot(o, d), wp.dot(o, o) - radius * radius))


@wp.func
def hit(frame: Frame, o: wp.vec3, d: wp.vec3):
    """Ray parameter at which the ray meets the solid, `NEVER` if it does not."""
    size = frame.size
    if frame.kind == BOX:
        sides = overlap(slab(o[0], d[0], size[0]), slab(o[1], d[1], size[1]))
        return entry(overlap(sides, slab(o[2], d[2], size[2])))
    if frame.kind == SPHERE:
        return ball(o, d, size[0])
    a = d[0] * d[0] + d[1] * d[1]
    b = o[0] * d[0] + o[1] * d[1]
    c = o[0] * o[0] + o[1] * o[1] - size[0] * size[0]
    t = entry(overlap(round_side(a, b, c), slab(o[2], d[2], size[1])))
    if frame.kind == CAPSULE:
        end = wp.vec3(0.0, 0.0, size[1])
        t = wp.min(t, wp.min(ball(o - end, d, size[0]), ball(o + end, d, size[0])))
    return t


@wp.func
def misses(bound: wp.vec4, d: wp.vec3):
    """Does the ray from the camera pass outside the sphere (centre in camera axes, radius)?"""
    center = wp.vec3(bound[0], bound[1], bound[2])
    along = wp.max(wp.dot(center, d), 0.0)
    length = wp.dot(d, d)
    return (wp.dot(center, center) - bound[3] * bound[3]) * length > along * along


@wp.kernel(enable_backward=False)
def cast(
    frames: wp.array2d(dtype=Frame),
    bounds: wp.array2d(dtype=wp.vec4),
    tan_half_fov: wp.array(dtype=wp.vec2),
    env_ids: wp.array(dtype=wp.int64),
    count: wp.array(dtype=wp.int32),
    pool: int,
    near: float,
    far: float,
    depth: wp.array3d(dtype=wp.float32),
):
    """One thread per pixel of every image."""
    image, row, column = wp.tid()
    env = int(env_ids[image])
    if env < 0:
        return
    x = (2.0 * (float(column) + 0.5) / float(depth.shape[2]) - 1.0) * tan_half_fov[image][0]
    y = (1.0 - 2.0 * (float(row) + 0.5) / float(depth.shape[1])) * tan_half_fov[image][1]
    direction = wp.vec3(x, y, -1.0)
    nearest = float(NEVER)
    boxes = wp.min(count[env], pool)
    for item in range(boxes + frames.shape[1] - pool):
        k = item
        if item >= boxes:
            k = item - boxes + pool
        if nearest > near and not misses(bounds[image, k], direction):
            frame = frames[image, k]
            nearest = wp.min(nearest, hit(frame, frame.origin, frame.turn * direction))
    depth[image, row, column] = wp.clamp(nearest, near, far)

"""Depth images on the CPU: the pixels of Algorithm 1 without one division per ray.

All rays of an image share their origin, so with a direction whose forward component is 1 the inverse depth
w = 1/t at which a ray meets a plane is affine in the pixel's coordinates. A convex solid is the interval
between the last plane entered and the first one left; in w that is `enter = min(front faces)` and
`leave = max(back faces)`, hit where enter > leave. Curved sides give one square root per pixel by the same
argument. What remains per pixel and solid is a handful of multiply-adds and minima over a contiguous run of
pixels, which becomes vector code.

Everything before a pixel loop is float64, the loops are float32. Each function adds one solid to `nearest`,
the largest w so far of every pixel. Arguments named `m` are 3×3: column 0 the direction of the image's centre
in the solid's frame, columns 1 and 2 its change per unit of the image coordinates `xs`, `ys` in (-1, 1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ssr.kept import kept
from ssr.vision.solids import BOX, CAPSULE, CYLINDER, SPHERE, LinkSolids

F = np.float32
TOUCHING = 1e-6  #: m; a surface nearer than this counts as this far, so that no division blows up
NO_FACE = F(1e9)  #: 1/m; inverse depth of a face that bounds nothing


class Shots(NamedTuple):
    """What m images show: L links, n worlds."""

    camera_position: np.ndarray  #: (m, 3) float64
    camera_quaternion: np.ndarray  #: (m, 4) float64
    tan_half_fov: np.ndarray  #: (m, 2) float64
    env_ids: np.ndarray  #: (m,) int64, each image's row of boxes
    boxes: np.ndarray  #: (n, pool, 8) float32
    box_count: np.ndarray  #: (n,) int32
    link_position: np.ndarray  #: (m, L, 3) float64
    link_quaternion: np.ndarray  #: (m, L, 4) float64


class Lens(NamedTuple):
    """Image coordinates of the H·W pixels, and the depths between which images are clamped."""

    xs: np.ndarray  #: (H·W,) float32
    ys: np.ndarray  #: (H·W,) float32
    near: float  #: m
    far: float  #: m


_compiled = kept(fastmath=True, error_model="numpy")


@_compiled
def _less(a, b):
    return a if a < b else b


@_compiled
def _more(a, b):
    return a if a > b else b


@_compiled
def _slab(o, h):
    """Faces at ±h on one axis, origin at o: factors of the direction component e for
    enter = front·e + open, leave = max(back_a·e, back_b·e)."""
    if o > h:
        back = F(-1.0 / (o + h))
        return F(-1.0 / max(o - h, TOUCHING)), F(0.0), back, back
    if o < -h:
        back = F(1.0 / (h - o))
        return F(1.0 / max(-o - h, TOUCHING)), F(0.0), back, back
    return F(0.0), NO_FACE, F(1.0 / max(h - o, TOUCHING)), F(-1.0 / max(h + o, TOUCHING))


@_compiled
def _box(nearest, xs, ys, m, origin, half):
    ax, bx, cx = F(m[0, 0]), F(m[0, 1]), F(m[0, 2])
    ay, by, cy = F(m[1, 0]), F(m[1, 1]), F(m[1, 2])
    az, bz, cz = F(m[2, 0]), F(m[2, 1]), F(m[2, 2])
    fx, kx, px, nx = _slab(origin[0], half[0])
    fy, ky, py, ny = _slab(origin[1], half[1])
    fz, kz, pz, nz = _slab(origin[2], half[2])
    for i in range(nearest.size):
        ex = ax + bx * xs[i] + cx * ys[i]
        ey = ay + by * xs[i] + cy * ys[i]
        ez = az + bz * xs[i] + cz * ys[i]
        enter = _less(_less(fx * ex + kx, fy * ey + ky), fz * ez + kz)
        leave = _more(_more(_more(px * ex, nx * ex), _more(py * ey, ny * ey)), _more(pz * ez, nz * ez))
        nearest[i] = _more(nearest[i], enter if enter > leave else F(0.0))


@_compiled
def _sphere(nearest, xs, ys, rays, m, origin, up, radius):
    """`rays`: squared length of every pixel's direction, the same in all frames; `up`: its centre's z."""
    ox, oy, oz = origin[0], origin[1], origin[2] - up
    c = ox * ox + oy * oy + oz * oz - radius * radius
    over_c, c32 = F(1.0 / max(c, TOUCHING * radius)), F(c)
    a = F(ox * m[0, 0] + oy * m[1, 0] + oz * m[2, 0])
    b = F(ox * m[0, 1] + oy * m[1, 1] + oz * m[2, 1])
    d = F(ox * m[0, 2] + oy * m[1, 2] + oz * m[2, 2])
    for i in range(nearest.size):
        along = a + b * xs[i] + d * ys[i]
        square = along * along - c32 * rays[i]
        w = (math.sqrt(_more(square, F(0.0))) - along) * over_c
        nearest[i] = _more(nearest[i], w if square > F(0.0) else F(0.0))


@_compiled
def _cylinder(nearest, xs, ys, m, origin, size):
    ox, oy, oz, radius, half = origin[0], origin[1], origin[2], size[0], size[1]
    c = ox * ox + oy * oy - radius * radius
    outside = c > 0.0
    if outside:
        c = max(c, TOUCHING * radius)
        over_c, opened = F(1.0 / c), F(0.0)
        front = over_c
    else:
        c = min(c, -TOUCHING * radius)
        over_c, opened = F(1.0 / c), NO_FACE
        front = F(0.0)
    ax, bx, cx = F(m[0, 0]), F(m[0, 1]), F(m[0, 2])
    ay, by, cy = F(m[1, 0]), F(m[1, 1]), F(m[1, 2])
    az, bz, cz = F(m[2, 0]), F(m[2, 1]), F(m[2, 2])
    ox32, oy32, r2 = F(ox), F(oy), F(radius * radius)
    fz, kz, pz, nz = _slab(oz, half)
    for i in range(nearest.size):
        ex = ax + bx * xs[i] + cx * ys[i]
        ey = ay + by * xs[i] + cy * ys[i]
        ez = az + bz * xs[i] + cz * ys[i]
        along = ox32 * ex + oy32 * ey
        across = ox32 * ey - oy32 * ex
        square = r2 * (ex * ex + ey * ey) - across * across
        root = math.sqrt(_more(square, F(0.0)))
        enter = _less((root - along) * front + opened, fz * ez + kz)
        leave = _more(_more((-along - root) * over_c, F(0.0)), _more(pz * ez, nz * ez))
        hit = (square >= F(0.0)) & (enter > leave)
        nearest[i] = _more(nearest[i], enter if hit else F(0.0))


@_compiled
def _contains(kind, o, size):
    """Is the point `o` of the solid's frame inside it?"""
    if kind == BOX:
        return abs(o[0]) <= size[0] and abs(o[1]) <= size[1] and abs(o[2]) <= size[2]
    off_axis = o[0] * o[0] + o[1] * o[1]
    if kind == CYLINDER:
        return off_axis <= size[0] * size[0] and abs(o[2]) <= size[1]
    beyond = max(abs(o[2]) - size[1], 0.0) if kind == CAPSULE else abs(o[2])
    return off_axis + beyond * beyond <= size[0] * size[0]


@_compiled
def _window(center, axes, half, tan_x, tan_y, far, height, width):
    """First and last pixel (row-major, the last one exclusive) a solid's bounding box can cover.

    center (3,) and axes (3, 3, columns) in view coordinates: forward, right, up. (0, 0): the view misses it.
    """
    out_left = out_right = out_top = out_bottom = behind = 0
    lowest, left, right, bottom, top = 1e30, 1e30, -1e30, 1e30, -1e30
    for corner in range(8):
        sx = half[0] if corner & 1 else -half[0]
        sy = half[1] if corner & 2 else -half[1]
        sz = half[2] if corner & 4 else -half[2]
        forward = center[0] + axes[0, 0] * sx + axes[0, 1] * sy + axes[0, 2] * sz
        x = (center[1] + axes[1, 0] * sx + axes[1, 1] * sy + axes[1, 2] * sz) / tan_x
        y = (center[2] + axes[2, 0] * sx + axes[2, 1] * sy + axes[2, 2] * sz) / tan_y
        out_right += x > forward
        out_left += -x > forward
        out_top += y > forward
        out_bottom += -y > forward
        behind += forward <= 0.0
        lowest = min(lowest, forward)
        if forward > 0.0:
            left, right = min(left, x / forward), max(right, x / forward)
            bottom, top = min(bottom, y / forward), max(top, y / forward)
    if max(out_left, out_right, out_top, out_bottom, behind) == 8 or lowest > far:
        return 0, 0
    if lowest < 1e-3:  # the box reaches behind the camera: its corners do not bound its image
        return 0, height * width
    slack = 1e-3  # pixels, for rounding
    row_0 = max(math.ceil((1.0 - top) * height / 2 - 0.5 - slack), 0)
    row_1 = min(math.floor((1.0 - bottom) * height / 2 - 0.5 + slack), height - 1)
    column_0 = max(math.ceil((left + 1.0) * width / 2 - 0.5 - slack), 0)
    column_1 = min(math.floor((right + 1.0) * width / 2 - 0.5 + slack), width - 1)
    if row_1 < row_0 or column_1 < column_0:
        return 0, 0
    return int(row_0 * width + column_0), int(row_1 * width + column_1 + 1)


@_compiled
def _rotation(q, r):
    """Fill r (3, 3) from the quaternion q (w, x, y, z), which need not be of unit length."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    r[0, 0], r[0, 1], r[0, 2] = 1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)
    r[1, 0], r[1, 1], r[1, 2] = s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)
    r[2, 0], r[2, 1], r[2, 2] = s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)


@_compiled
def _face(q, r):
    """Fill r (3, 3) with the forward, right and up axes, as columns, of a camera that looks along its -z."""
    _rotation(q, r)
    for i in range(3):
        r[i, 0], r[i, 1], r[i, 2] = -r[i, 2], r[i, 0], r[i, 1]


@_compiled
def _see(camera, position, rotation, tan_x, tan_y, origin, center, axes, m):
    """Express camera and solid in each other's frames.

    camera (4, 3): position, then the axes of `_face`. Fills origin (the camera in the solid's frame), center
    and axes (the solid in view coordinates) and m.
    """
    view = camera[1:]
    for i in range(3):
        origin[i] = 0.0
        center[i] = 0.0
        for k in range(3):
            origin[i] += rotation[k, i] * (camera[0, k] - position[k])
            center[i] += view[k, i] * (position[k] - camera[0, k])
        for j in range(3):
            axes[i, j] = 0.0
            for k in range(3):
                axes[i, j] += view[k, i] * rotation[k, j]
    for i in range(3):
        m[i, 0] = axes[0, i]
        m[i, 1] = axes[1, i] * tan_x
        m[i, 2] = axes[2, i] * tan_y


@_compiled
def render_images(depth, first, last, scene, solids, lens):
    """Fill depth[first:last] (m, H, W) float32, metres; `Shots`, `LinkSolids` and `Lens` as plain tuples."""
    shown, own, pixels = Shots(*scene), LinkSolids(*solids), Lens(*lens)
    boxes, count, xs, ys, far = shown.boxes, shown.box_count, pixels.xs, pixels.ys, pixels.far
    kind, link, size = own.kind, own.link, own.size
    height, width = depth.shape[1], depth.shape[2]
    nearest = np.empty(height * width, np.float32)
    rays = np.empty(height * width, np.float32)
    camera = np.empty((4, 3))
    origin, center, at, half = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    axes, m, turn, whole = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for image in range(first, last):
        camera[0] = shown.camera_position[image]
        _face(shown.camera_quaternion[image], camera[1:])
        tan_x, tan_y = shown.tan_half_fov[image, 0], shown.tan_half_fov[image, 1]
        tx2, ty2 = F(tan_x * tan_x), F(tan_y * tan_y)
        for i in range(nearest.size):
            nearest[i] = F(0.0)
            rays[i] = F(1.0) + tx2 * xs[i] * xs[i] + ty2 * ys[i] * ys[i]
        inside = False

        env = shown.env_ids[image]
        turn[:] = np.eye(3)
        for b in range(min(count[env], boxes.shape[1])):
            cosine, sine = math.cos(boxes[env, b, 6]), math.sin(boxes[env, b, 6])
            turn[0, 0], turn[0, 1], turn[0, 2] = cosine, 0.0, sine
            turn[1, 0], turn[1, 1], turn[1, 2] = 0.0, 1.0, 0.0
            turn[2, 0], turn[2, 2] = -sine, cosine
            if boxes[env, b, 7] != 0.0:
                c, s = math.cos(boxes[env, b, 7]), math.sin(boxes[env, b, 7])
                turn[0, 0], turn[0, 1], turn[0, 2] = c * cosine, -s, c * sine
                turn[1, 0], turn[1, 1], turn[1, 2] = s * cosine, c, s * sine
            for k in range(3):
                at[k] = boxes[env, b, k]
                half[k] = boxes[env, b, 3 + k]
            _see(camera, at, turn, tan_x, tan_y, origin, center, axes, m)
            start, stop = _window(center, axes, half, tan_x, tan_y, far, height, width)
            if stop > start:
                inside = inside or _contains(BOX, origin, half)
                _box(nearest[start:stop], xs[start:stop], ys[start:stop], m, origin, half)

        for s in range(kind.size):
            _rotation(shown.link_quaternion[image, link[s]], turn)
            for i in range(3):
                at[i] = shown.link_position[image, link[s], i]
                for k in range(3):
                    at[i] += turn[i, k] * own.position[s, k]
                    whole[i, k] = 0.0
                    for j in range(3):
                        whole[i, k] += turn[i, j] * own.rotation[s, j, k]
            _see(camera, at, whole, tan_x, tan_y, origin, center, axes, m)
            start, stop = _window(center, axes, own.bound[s], tan_x, tan_y, far, height, width)
            if stop > start:
                inside = inside or _contains(kind[s], origin, size[s])
                w, x, y, ray = nearest[start:stop], xs[start:stop], ys[start:stop], rays[start:stop]
                if kind[s] == BOX:
                    _box(w, x, y, m, origin, size[s])
                elif kind[s] == SPHERE:
                    _sphere(w, x, y, ray, m, origin, 0.0, size[s, 0])
                else:
                    _cylinder(w, x, y, m, origin, size[s])
                    if kind[s] == CAPSULE:
                        _sphere(w, x, y, ray, m, origin, size[s, 1], size[s, 0])
                        _sphere(w, x, y, ray, m, origin, -size[s, 1], size[s, 0])

        low, high, farthest = F(pixels.near), F(far), F(1.0 / far)
        row = depth[image].reshape(height * width)
        for i in range(row.size):
            w = nearest[i]
            d = _more(F(1.0) / _more(w, farthest), low)
            row[i] = low if inside else (d if w > farthest else high)

"""Load a policy and steer it: ahead, then to the left, on stairs; prints where it is once a second.

python examples/steer_a_policy.py [RUN [SECONDS]]
"""

import sys

from ssr.evaluation import subject
from ssr.viewer.ground import Ground
from ssr.viewer.world import PlayWorld

run = sys.argv[1] if len(sys.argv) > 1 else "pretrained/x2"
seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 10

walker = subject.load(run)
world = PlayWorld(walker, Ground.of("stairs_up", level=3))
for second in range(seconds):
    turn = 0.0 if second < seconds / 2 else 0.3
    world.command = (0.8, 0.0, turn)  # m/s ahead, m/s to the left, rad/s to the left
    for _ in range(round(1.0 / walker.task.control_period)):
        moment = world.step()
    x, y, z = moment.base_position
    print(f"{second + 1:2d} s: x {x:5.2f} m, y {y:5.2f} m, z {z:4.2f} m, {moment.velocity[0]:4.2f} m/s ahead")
print(dict(world.tally) or "still walking")

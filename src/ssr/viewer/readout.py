"""Figures of the running policy as a small table."""

from __future__ import annotations

from ssr.viewer.world import PlayWorld

STYLE = "width:100%;border-collapse:collapse;font-size:0.85em;line-height:1.5"
ROWS = (("forward", "m/s"), ("left", "m/s"), ("turn", "rad/s"))


def readout(world: PlayWorld, rate: float, *, paused: bool) -> str:
    """HTML. `rate`: simulated per real second."""
    moment, tally = world.moment, world.tally
    speeds = "".join(
        f"<tr><td>{name}</td><td>{wanted:+.2f}</td><td><b>{measured:+.2f}</b></td><td>{unit}</td></tr>"
        for (name, unit), wanted, measured in zip(ROWS, world.command, moment.velocity, strict=True)
    )
    state = "paused" if paused else f"{rate:.2f} × real time"
    iteration = world.subject.iteration
    policy = world.subject.name if iteration is None else f"{world.subject.name}, iteration {iteration}"
    return (
        f"<div style='padding:0.4em 0.9em'><b>{world.ground.title}</b>"
        f"<div style='font-size:0.85em'>{world.ground.details}</div>"
        f"<table style='{STYLE}'>"
        f"<tr><td></td><td>command</td><td>measured</td><td></td></tr>{speeds}</table>"
        f"<div style='font-size:0.85em'>falls <b>{tally['fell']}</b> · crossed <b>{tally['crossed']}</b> · "
        f"strayed <b>{tally['strayed']}</b><br>{moment.seconds:.1f} s since the start · {state}<br>{policy}"
        f"</div></div>"
    )

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
    details, walked = world.ground.details, ""
    if world.walk is not None and world.leads:
        details, walked = world.walk.piece, f"<b>{world.walk.done:.0f} m</b> on the way · "
    return (
        f"<div style='padding:0.4em 0.9em'><b>{world.ground.title}</b>"
        f"<div style='font-size:0.85em'>{details}</div>"
        f"<table style='{STYLE}'>"
        f"<tr><td></td><td>command</td><td>measured</td><td></td></tr>{speeds}</table>"
        f"<div style='font-size:0.85em'>{walked}falls <b>{tally['fell']}</b> · "
        f"crossed <b>{tally['crossed']}</b> · strayed <b>{tally['strayed']}</b>"
        f"<br>{moment.seconds:.1f} s since the start · {state}<br>{policy}"
        f"</div></div>"
    )

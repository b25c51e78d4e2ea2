"""The tables of the report, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ssr.evaluation.figures.style import colour
from ssr.evaluation.measures import LEAST_RATED, LEAST_SCATTERED, TRAVERSED, Row
from ssr.evaluation.paper import TABLE_1
from ssr.evaluation.results import Results
from ssr.evaluation.table import GAIT, OUTCOME, WAY, Column, all_courses, friction_words, texts, typical

BOTH_READINGS = tuple(c for c in OUTCOME if c.measure in ("success", "traversal", "sfr"))
GUESSING = 0.5


def html_table(head: str, rows: Iterable[str]) -> str:
    """head: rows of the table's head; rows: of its body. What is wider than the page scrolls in a frame."""
    return (
        "<div class='scroll' tabindex='0'><table>"
        f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def html_row(cells: Iterable[str], tag: str = "td", kind: str = "") -> str:
    name = f" class='{kind}'" if kind else ""
    return f"<tr{name}>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def dot(number: int) -> str:
    return f"<span class='dot' style='background:{colour(number)}'></span>"


def outcome(results: Sequence[Results]) -> str:
    return _measures(results, OUTCOME) + _outcome_words(results[0])


def gait(results: Sequence[Results]) -> str:
    return f"<h2>Gait</h2>{_measures(results, GAIT)}{_measures(results, WAY)}{GAIT_WORDS}"


def _measures(results: Sequence[Results], columns: Sequence[Column]) -> str:
    several = len(results) > 1
    heads = [
        "strip",
        *(["policy"] if several else []),
        "trials",
        *(f"{c.heading} ({c.unit})" for c in columns),
    ]
    rows = []
    for course in all_courses(results):
        tried = [
            (k, result, row) for k, result in enumerate(results) if (row := result.find(course)) is not None
        ]
        for place, (number, result, row) in enumerate(tried):
            cells = ["" if place else course.title]
            cells += [f"{dot(number)}{escape(result.name)}"] if several else []
            cells += [str(row["trials"]), *(_cell(row, column, colour(number)) for column in columns)]
            rows.append(html_row(cells, kind="first" if several and not place else ""))
    return html_table(html_row(heads, "th"), rows)


def _cell(row: Row, column: Column, shade: str) -> str:
    value, ends = texts(row, column)
    text = f"{value}<small>{ends}</small>" if ends else value
    if column.measure in ("success", "traversal"):
        share = 100 * row[column.measure]
        text += f"<span class='bar'><i style='width:{share:.1f}%;background:{shade}'></i></span>"
    return text


def _outcome_words(result: Results) -> str:
    c = result.conditions
    least = TRAVERSED * c.speed * c.seconds
    drawn = (
        "Every trial draws its own start, camera mounting and sensor noise; the robot is always as built."
        if c.nominal and c.payload is None and c.friction is None and c.push is None
        else "Every trial draws its own start, payload, masses, gains, friction, delay, pushes, camera "
        "mounting and sensor noise, as in training."
    )
    return f"""<p class='soft'>
<b>success</b>: {c.seconds:g} s without a fall; a robot that stands still succeeds.
<b>traversal</b>: success and at least {least:g} m covered. <b>speed</b>: until the trial ended.
<b>SFR</b>: share of footholds with more than 75 % of the sole supported at contact; <b>chance</b>: the
same of soles put down anywhere on the strip. <b>MSR</b>: mean support. Both are of the <b>rated</b>
landings, those between the first edge and the last; below {LEAST_RATED} of them per trial nothing is said.
<b>AP</b>: mean Σ|τ·q̇|. <b>PFCF</b>: mean over stances of the largest contact force.
Small figures: 95 % intervals. ★: beyond the training curriculum. {drawn}</p>"""


GAIT_WORDS = f"""<p class='soft'>
After the first three seconds, of the trials that last longer: <b>walks</b> and their seconds <b>in all</b>.
Who fell before is not among them. <b>cadence</b>: landings of either foot; <b>step</b>: metres between two of
them. <b>air</b>, <b>stance</b>: how long a foot is off and on the ground in each step; <b>both feet</b>,
<b>flight</b>: share of the time with both feet on the ground, and with none.
<b>speed ÷ command</b>: 100 % walks as told. <b>drift</b>: how far to the side it ends, nobody steering.
<b>scatter</b>: standard deviation of landings along the tread, around the circle that a tread is; above
0.4 treads they lie anywhere, and below {LEAST_SCATTERED} landings it is not given.
<b>right foot leads</b>: over gaps, onto platforms and onto the first tread.
<b>style</b>: reward as the run's own discriminators pay it, beside what they pay the reference motion.</p>"""


def readings(result: Results, others: Sequence[Results]) -> str:
    """The same strips with Table 10's friction read otherwise."""
    if not others:
        return ""
    tried = (result, *others)
    names = [friction_words(r.conditions.friction_rule) for r in tried]
    head = html_row(["", *(f"friction {name}" for name in names)], "th").replace(
        "<th>friction", f"<th colspan='{len(BOTH_READINGS)}'>friction"
    )
    head += html_row(["strip", *(f"{c.heading} ({c.unit})" for _ in tried for c in BOTH_READINGS)], "th")
    rows = []
    for course in all_courses(tried):
        cells = [course.title]
        for one in tried:
            row = one.find(course)
            cells += ["–" if row is None else _cell(row, c, colour(0)) for c in BOTH_READINGS]
        rows.append(html_row(cells))
    rule = result.trained_friction
    trained = (
        "It was not trained." if rule is None else f"It was trained with friction {friction_words(rule)}."
    )
    return (
        f"<h2>Both readings of Table 10</h2>{html_table(head, rows)}<p class='soft'>The paper draws the "
        "friction of a foot from 0.2 to 1.25 and does not say how it combines with the ground's. "
        f"Averaged with 1.0, 0.6 to 1.125 acts; as printed, 0.2 to 1.25. {trained}</p>"
    )


def quality(results: Sequence[Results]) -> str:
    """Table 1: power and contact force, mean ± standard deviation between trials, beside the paper's."""
    courses = [c for c in (typical(results, kind) for kind in TABLE_1) if c is not None]
    if not courses:
        return ""
    head = "<tr><th></th>" + "".join(f"<th colspan='2'>{course.title}</th>" for course in courses) + "</tr>"
    head += html_row(["policy", *("AP (W)", "PFCF (N)") * len(courses)], "th")
    rows = []
    for result in results:
        found = [result.find(course) for course in courses]
        rows.append(html_row([escape(result.name), *(_spread(r, n) for r in found for n in ("ap", "pfcf"))]))
    paper = [TABLE_1[course.kind] for course in courses]
    printed = [f"{v:.1f} ± {s:.1f}" for q in paper for v, s in ((q.ap, q.ap_std), (q.pfcf, q.pfcf_std))]
    rows.append(html_row(["the paper's SSR", *printed], kind="first"))
    return (
        f"<h2>Motion quality</h2>{html_table(head, rows)}<p class='soft'>Average power and peak foot contact "
        "force, mean ± standard deviation between trials; below, Table 1 of the paper.</p>"
    )


def _spread(row: Row | None, name: str) -> str:
    if row is None or row[name] is None:
        return "–"
    std = row[f"{name}_std"]
    return f"{row[name]:.1f}" + ("" if std is None else f" ± {std:.1f}")


def likeness(results: Sequence[Results]) -> str:
    """How alike the walk and the reference motion are."""
    shown = [(result, result.manner) for result in results if result.manner is not None]
    return "".join(_likeness(r, m, len(results) > 1) for r, m in shown)


def _likeness(result: Results, manner: dict[str, Any], several: bool) -> str:
    name = f": {escape(result.name)}" if several else ""
    if manner["judge"] is None:
        return (
            f"<h2>Walk and reference{name}</h2><p class='soft'>Too few robots stayed up and walked "
            f"equally fast on level ground to be judged: {manner['robots']} of {manner['of']}.</p>"
        )
    own, reference = manner["policy"], manner["reference"]
    walk = (("speed", "speed (m/s)"), ("cadence", "cadence (1/s)"), ("step_length", "step (m)"),
            ("arm_swing", "arm swing (m)"))  # fmt: skip
    roles = _roles(own["joints"])
    head = html_row(["", *(title for _, title in walk), *(role.replace("_", " ") for role in roles)], "th")
    rows = [
        html_row([who, *(_figure(side[key]) for key, _ in walk), *(f"{v:.2f}" for v in ranges)])
        for who, side, ranges in (
            ("policy", own, _ranges(own["joints"], roles)),
            ("reference", reference, _ranges(reference["joints"], roles)),
        )
    ]
    parts = manner["judge_by_quantity"].items()
    judged = [("everything", manner["judge"]), *((k.replace("_", " "), v) for k, v in parts)]
    judged += [("reference against itself", manner["judge_of_halves"])]
    judged += [("one person against the others", manner["judge_of_person"])]
    verdicts = html_table(
        html_row(["the judge sees", *(k for k, _ in judged)], "th"),
        [html_row(["is right (%)", *(_verdict(v) for _, v in judged)])],
    )
    speeds = "at any speed" if manner["reach"] is None else f"within {manner['reach']:g} m/s of its speed"
    return (
        f"<h2>Walk and reference{name}</h2>{verdicts}<p class='soft'>A judge that never paid the policy: a "
        "network trained afresh to tell its windows from the reference's, on level ground, the robot as "
        f"built, tried on robots ({manner['robots']} of {manner['of']}) and people "
        f"({manner['people']}, planned walks being one's) it never saw, in windows {speeds}. "
        f"{100 * GUESSING:.0f} % is guessing: the walk cannot be told from the reference. Base velocity is "
        "left out. Last columns: two halves of the reference, which nobody should tell apart, and one person "
        "of the reference against the others.</p>"
        f"{html_table(head, rows)}<p class='soft'>Reference: {manner['clips']} clips about as fast. Arm "
        "swing: hands fore and aft. Joints: 5–95 % range in rad, mean of both sides.</p>"
    )


def _verdict(numbers: Sequence[float] | None) -> str:
    if numbers is None:
        return "–"
    value, low, high = (100 * x for x in numbers)
    return f"{value:.0f}<small>{low:.0f}–{high:.0f}</small>"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _roles(joints: dict[str, list[float]]) -> list[str]:
    """Joint names without their side, each once."""
    return list(dict.fromkeys(_role(name) for name in joints))


def _role(joint: str) -> str:
    return joint.removesuffix("_joint").removeprefix("right_").removeprefix("left_")


def _ranges(joints: dict[str, list[float]], roles: Sequence[str]) -> list[float]:
    """The range of each role, mean of both sides."""
    own = {role: [span for name, (_, span) in joints.items() if _role(name) == role] for role in roles}
    return [sum(spans) / len(spans) for spans in own.values()]

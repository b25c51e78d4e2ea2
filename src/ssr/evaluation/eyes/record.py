"""eyes.json: what was found out about a policy's eyes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssr import __version__
from ssr.errors import UserError
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.measures import Row
from ssr.evaluation.results import OtherFormat
from ssr.evaluation.store import PARTS, code_digest
from ssr.files import DAMAGED, with_seal, without_seal, write_json

EYES, RECORD, PAGE = "eyes", "eyes.json", "eyes.html"
FORMAT = 2
#: what decides a record besides the course of its trials
MEASURES = (
    *("learning/edge_sight.py", "evaluation/measures.py", "evaluation/places.py", "evaluation/chance.py"),
    *(f"evaluation/eyes/{name}.py" for name in ("examine", "landings", "looks", "phantom", "sight")),
)


def own_code() -> str:
    """Digest of the code that decides what a record says."""
    return code_digest((*PARTS, *MEASURES))


@dataclass(kw_only=True)
class Eyes:
    """Rows have `terrain` and `setting` as those of results.json; lengths in metres, shares of 1."""

    name: str
    policy: str  #: digest of the policy, as `Subject.digest`
    code: str  #: digest of the code that measured it, as `own_code`
    robot: str
    iteration: int | None
    conditions: Conditions
    trials: int  #: of each look
    sight: list[Row] = field(
        default_factory=list
    )  #: edge sight and map error, in all and by age of the image
    phantoms: list[Row] = field(default_factory=list)  #: landings and falls by shift, and their slope
    cameras: list[Row] = field(
        default_factory=list
    )  #: as results.json, with the `camera`: open, frozen, blind

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        kept = ("name", "policy", "code", "robot", "iteration", "trials", "sight", "phantoms", "cameras")
        content: dict[str, Any] = {"format": FORMAT, "version": __version__}
        content |= {"conditions": self.conditions.as_dict()} | {name: getattr(self, name) for name in kept}
        write_json(folder / RECORD, with_seal(content))
        return folder / RECORD


def load(path: Path) -> Eyes:
    """The record in a file."""
    try:
        content = without_seal(path.read_text())
        if content["format"] != FORMAT:
            raise OtherFormat(f"{path} has format {content['format']}, not {FORMAT}: run `ssr eyes` again.")
        del content["format"], content["version"]
        return Eyes(**content | {"conditions": Conditions(**content["conditions"])})
    except DAMAGED as error:
        raise UserError(f"{path} is damaged. Remove it and run `ssr eyes` again.") from error


def of_policy(run: Path | None, policy: str) -> Eyes | None:
    """What a run directory holds about the eyes of the policy with this digest, measured by this code."""
    for path in sorted((run / EYES).rglob(RECORD)) if run is not None else []:
        try:
            found = load(path)
        except OtherFormat:
            continue
        if (found.policy, found.code) == (policy, own_code()):
            return found
    return None

"""The process of one slot: it claims one run, trains it from wherever it stands, tries it, and ends.

    python -m ssr.study.job DIR RUN SLOT WORKERS PARENT

It ends with its parent: then, as when it is asked to, it first saves.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from math import inf
from pathlib import Path

from rich.console import Console

from ssr.errors import UserError, of_the_system
from ssr.evaluation.evaluate import Request, evaluate
from ssr.evaluation.worlds import CHUNK
from ssr.learning import recipe, stages
from ssr.machine import here
from ssr.study import claims
from ssr.study.folder import StudyFolder
from ssr.study.plan import PlannedRun

DONE, CRASHED, REFUSED, STOPPED, TAKEN = 0, 1, 2, 3, 4  #: exit codes
BEAT = 5.0  #: s between two signs of life
LOOK = 0.25  #: s between two looks at the parent
GRACE = 300.0  #: s for the last checkpoint of a process whose parent is gone


def main(argv: list[str]) -> int:
    path, name, slot, workers, parent = argv
    folder = StudyFolder.open(Path(path))
    run = folder.run(name)
    held = claims.take(folder.claims, name, int(slot))
    if held is None:
        return TAKEN
    if folder.done(run) is not None:  # while we were on our way
        held.release()
        return DONE
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_live, args=(held, int(parent)), daemon=True).start()
    try:
        return work(folder, run, held, int(workers))
    except KeyboardInterrupt:
        return STOPPED
    except UserError as error:
        print(f"ssr study: {error}", flush=True)
        return REFUSED
    except OSError as error:
        print(f"ssr study: {of_the_system(error)}", flush=True)
        return REFUSED
    except Exception:
        traceback.print_exc()
        return CRASHED
    finally:
        held.release()


def work(folder: StudyFolder, run: PlannedRun, held: claims.Held | None = None, workers: int = 1) -> int:
    """Train and try one run; what is done already is not done again."""
    say = held.say if held is not None else lambda phase: None
    begun = time.monotonic()
    if run.entered is None:
        say("training")
        assert run.seed is not None
        chosen = recipe.read(folder.recipe_text(run), run.method, run.seed)
        path = folder.training(run)
        if stages.is_recipe_run(path):
            stages.resume(path, _say)
        else:
            stages.run(path, chosen, folder.recipe_text(run), say=_say)
        ended = [entry.name for entry in stages.record(path) if entry.ended]
        if ended != [stage.name for stage in chosen.stages]:  # it was asked to stop
            return STOPPED
    say("evaluating")
    began = time.monotonic()
    plan = folder.plan
    request = Request(
        source=str(folder.training(run)),
        courses=plan.courses,
        trials=plan.trials,
        snapshots=plan.snapshots if run.entered is None else 0,
        directions=plan.directions,
        manner=False,
        workers=workers,
        folder=folder.evaluation(run),
        chunk=min(CHUNK, plan.trials),
    )
    evaluate(request, Console())
    now, (host, _) = time.monotonic(), here()
    folder.finish(run, {"host": host, "seconds": now - begun, "evaluation_seconds": now - began})
    return DONE


def _say(text: str) -> None:
    print(text, flush=True)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _live(held: claims.Held, parent: int) -> None:
    """Signs of life; the end, where the claim is another's now or the parent is gone."""
    alarm = inf
    due = time.monotonic() + BEAT
    while time.monotonic() < alarm:
        time.sleep(LOOK)
        if time.monotonic() >= due:
            due = time.monotonic() + BEAT
            if not held.beat():
                print("ssr study: another process has taken over.", flush=True)
                os._exit(TAKEN)
        if alarm == inf and os.getppid() != parent:
            alarm = time.monotonic() + GRACE
            os.kill(os.getpid(), signal.SIGTERM)
    os._exit(STOPPED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Keeping a beat, and letting go of it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time

import pytest

from ssr.deployment.contract import Contract
from ssr.deployment.realtime import Beat


def test_a_beat_counts_what_it_slept_through_and_the_longest_pause() -> None:
    """Counted from when it is late; a pause may only be longer than it was meant to be."""
    beat = Beat(0.01)
    for pause in (0.055, 0.0, 0.105, 0.0, 0.035):
        beat.wait()
        time.sleep(pause)
    number = beat.wait()
    assert beat.longest >= 9  # the pause of 105 ms
    assert beat.skipped >= beat.longest + 4 + 2
    assert number == beat.beats + beat.skipped - 1


CLOSES = """
import os, pickle, sys
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
import numpy as np
from ssr.deployment.depth_pipeline import DepthPipeline, ImageSource
from ssr.deployment.realtime import claim_priority, step_back

def see(camera):
    source, pipeline = ImageSource(camera), DepthPipeline(camera)
    pipeline.process(source.frame(np.full(camera.sensor_pixels[::-1], 1000, np.uint16)))
    step_back()

claim_priority()
see(pickle.loads(bytes.fromhex(sys.argv[1])))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors cannot be chosen here")
def test_filters_close_on_a_single_core_after_real_time(contract: Contract) -> None:
    """At real-time priority they would spin for ever, waiting for a thread that never gets its turn."""
    camera = pickle.dumps(contract.camera).hex()
    subprocess.run([sys.executable, "-c", CLOSES, camera], check=True, timeout=60)

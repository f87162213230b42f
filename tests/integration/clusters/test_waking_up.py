"""A cluster whose only broker hung for so long that it is fenced says, when it wakes up, that no broker is active."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from lab.api import Lab

pytestmark = pytest.mark.kafka

#: The controller fences a broker that it has not heard of for 9 s, Kafka's default.
_HANGS_SECONDS = 11.0
_WAKES_SECONDS = 4.0


def test_whoever_asks_a_cluster_that_wakes_up_lives_on(lab: Lab) -> None:
    asking = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "support.identity_process",
            str(lab.home.root),
            str(_HANGS_SECONDS + 2 * _WAKES_SECONDS),
        ],
        env={"PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(_WAKES_SECONDS)
    lab.pause("east-broker-1")
    try:
        time.sleep(_HANGS_SECONDS)
    finally:
        lab.resume("east-broker-1")
    said, wrong = asking.communicate(timeout=60)
    assert asking.returncode == 0, wrong
    # The moment without a broker is short, and not always seen.
    assert said in {"[1]\n", "[0, 1]\n"}

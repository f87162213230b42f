"""After a cluster's only broker hung until the controller fenced it, the cluster first reports no active broker."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from lab.api import Lab

pytestmark = pytest.mark.kafka

#: The controller fences a broker after 9 s without a heartbeat, Kafka's default.
_HANGS_SECONDS = 11.0
_WAKES_SECONDS = 4.0


def test_a_client_survives_a_cluster_that_wakes_up(lab: Lab) -> None:
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

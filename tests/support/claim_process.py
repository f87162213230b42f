"""Claims a group in a register on demand, in a process of its own.

Run as ``python -m support.claim_process HOME GROUP RUN``.

It says ``ready``, waits for a line, and says what became of its claim.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.register import KafkaRegister, Phase, RegisterConflict
from lab.api import Lab
from lab.rights import OPERATOR
from support.register_states import a_state


def main(home: str, group: str, run: str) -> None:
    settings = ClientSettings.from_librdkafka(Lab(Path(home)).client_settings("east", OPERATOR))
    with KafkaCluster("east", settings) as cluster:
        register = KafkaRegister(cluster, SystemClock())
        expected = register.read(group)
        print("ready", flush=True)  # noqa: T201
        sys.stdin.readline()
        try:
            register.compare_and_set(expected, a_state(group=group, epoch=2, phase=Phase.SWITCHING, run=run))
        except RegisterConflict:
            print("lost", flush=True)  # noqa: T201
        else:
            print("won", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Asks a cluster for its identity again and again: ``python -m support.identity_process HOME SECONDS``.

At its end it says with how many brokers the cluster was seen to answer.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.errors import TryAgain
from lab.api import Lab
from lab.rights import OPERATOR

_AT_ONCE = 6


def main(home: str, seconds: float) -> None:
    settings = ClientSettings.from_librdkafka(Lab(Path(home)).client_settings("east", OPERATOR))
    end = time.monotonic() + seconds

    def ask(_number: int) -> set[int]:
        seen = set()
        with KafkaCluster("east", settings, request_seconds=1.0) as cluster:
            while time.monotonic() < end:
                try:
                    seen.add(len(cluster.topics.identity().brokers))
                except TryAgain:
                    continue
        return seen

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        print(sorted(set().union(*pool.map(ask, range(_AT_ONCE)))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))

"""What seems foreign and was copied from transactions that were aborted is called so, record by record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from copy_audit.aborted import foreign_hashes, with_aborted
from kafka_dr.audit.corruption import Payload
from kafka_dr.audit.finding import FindingKind
from support.faulty_copy import FaultyCopy, Written
from support.topic_audits import audited, hash_of, log_of


def record(offset: int, value: bytes) -> Written:
    return Written(offset, Payload(None, value, (), 1_000 + offset))


TARGET = [record(n, b"%d" % n) for n in range(10)]


def test_only_those_are_renamed_whose_originals_were_aborted_and_runs_stay_runs() -> None:
    source = [replace(each, offset=n) for n, each in enumerate([*TARGET[:2], *TARGET[8:]])]
    (outcome,) = audited(FaultyCopy({0: source}, {0: TARGET}))
    assert [(d.kind, d.target_offset, d.count) for d in outcome.settled] == [(FindingKind.FOREIGN, 2, 6)]
    log = log_of(TARGET)
    assert foreign_hashes(outcome, log, 100).tolist() == [hash_of(TARGET[n].payload) for n in range(2, 8)]
    assert len(foreign_hashes(outcome, log, 4)) == 4

    aborted = np.array([hash_of(TARGET[n].payload) for n in (3, 4, 7)], np.int64)
    found = with_aborted(outcome, log, aborted)
    assert [(d.kind, d.target_offset, d.count, d.timestamp) for d in found.settled] == [
        (FindingKind.FOREIGN, 2, 1, 1_002),
        (FindingKind.ABORTED, 3, 2, 1_003),
        (FindingKind.FOREIGN, 5, 2, 1_005),
        (FindingKind.ABORTED, 7, 1, 1_007),
    ]
    assert with_aborted(outcome, log, aborted[:0]) is outcome

"""Fingerprints in files: what was written part by part equals one array."""

from __future__ import annotations

import numpy as np

from copy_audit.fingerprints import Fingerprints, Spool


def part(first: int, count: int) -> Fingerprints:
    offsets = np.arange(first, first + count, dtype=np.int64)
    return Fingerprints(offsets, offsets * 10, offsets * 100, offsets * 1000)


def test_a_stretch_without_a_record_takes_no_keys_away() -> None:
    spool = Spool(5)
    for each in (part(0, 3), Fingerprints.joined([]), part(7, 2)):
        spool.add(each)
    log = spool.log()
    assert log.offsets.tolist() == [0, 1, 2, 7, 8]
    assert log.keys is not None
    assert log.keys.tolist() == [0, 1000, 2000, 7000, 8000]


def test_keys_that_one_part_lacks_are_lacking() -> None:
    spool = Spool(2)
    bare = part(1, 1)
    for each in (part(0, 1), Fingerprints(bare.offsets, bare.timestamps, bare.hashes)):
        spool.add(each)
    assert spool.log().keys is None


def test_a_record_without_a_timestamp_waits_since_its_neighbour_was_made() -> None:
    log = Fingerprints(*(np.array(values, np.int64) for values in (range(6), (-1, 7, -1, -1, -5, -1), range(6))))
    assert log.dated().timestamps.tolist() == [7, 7, 7, 7, -5, -5]
    assert part(0, 3).dated().timestamps.tolist() == [0, 10, 20]

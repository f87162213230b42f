"""An audit says where the target holds records a second time, also where no finding shows it."""

from __future__ import annotations

import numpy as np
import pytest

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import Unseen
from kafka_dr.positions import CountedRange

OLD = 2**60


def log(contents: str, *, step: int = 1, keyed: bool = False) -> Fingerprints:
    """Return a log with a record of this content at every ``step``-th offset; a space is an offset without one."""
    at = [(n * step, ord(each)) for n, each in enumerate(contents) if each != " "]
    offsets, hashes = (np.array([pair[number] for pair in at], np.int64) for number in (0, 1))
    # Capital letters and small ones are values of one key.
    keys = np.array([ord(chr(content).lower()) for content in hashes.tolist()], np.int64) if keyed else None
    return Fingerprints(offsets, np.zeros(len(at), np.int64), hashes, keys)


def twice(source: str, target: str, *, step: int = 1, starts: int = 0, compacted: bool = False) -> list[CountedRange]:
    logs = PartitionLogs(
        0,
        log(source, keyed=compacted),
        log(target, step=step, keyed=compacted),
        ComparedRange(starts, len(source), first_kept=starts),
        ComparedRange(0, len(target) * step),
    )

    def gone(_: object) -> tuple[object, object]:
        return (lambda _record: Unseen.GONE), (lambda _record: Unseen.GONE)

    (found,) = audit_topic([logs], compacted=compacted, young_from=OLD, lookups=AuditLookups(gone, nowhere))  # type: ignore[arg-type]
    return list(found.second_copies)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("abcdef", []),
        ("abcabcdef", [CountedRange(3, 6, 3)]),
        ("abcdeff", [CountedRange(6, 7, 1)]),
        ("ababcdecdef", [CountedRange(2, 4, 2), CountedRange(7, 10, 3)]),
        ("abXcdef", []),
        ("bacdef", []),
    ],
)
def test_second_copies_are_counted_where_they_are(target: str, found: list[CountedRange]) -> None:
    assert twice("abcdef", target) == found


def test_a_range_ends_after_its_last_record_whatever_offsets_are_between() -> None:
    assert twice("abcdef", "abcabcdef", step=3) == [CountedRange(9, 16, 3)]


def test_what_only_the_target_has_may_be_a_second_copy_of_what_the_source_deleted() -> None:
    assert twice("   defgh", "abcdeabfgh", starts=3) == [CountedRange(5, 7, 2)]
    assert twice("abcdefgh", "abcdeXYfgh") == []


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        # Compaction explains a record that only the target has where offsets of the source have no record.
        (" bc A", "abcaA", [CountedRange(0, 1, 1), CountedRange(3, 4, 1)]),
        # Elsewhere it is foreign.
        ("b cA", "bacaA", [CountedRange(1, 2, 1), CountedRange(3, 4, 1)]),
        (" bcA", "abcA", []),
    ],
)
def test_a_second_copy_of_a_value_that_was_replaced_on_the_source_is_counted(
    source: str, target: str, found: list[CountedRange]
) -> None:
    """A later value of its key replaced ``a`` on the source; the target has not been compacted."""
    assert twice(source, target, compacted=True) == found

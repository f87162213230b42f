"""Records of one gap: which is which, however many there are and whatever cannot be looked at."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.audit.corruption import Parts, Payload, PayloadOf, Unseen, judge
from kafka_dr.audit.difference import OneSidedRules, Suspects, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind

_CIRCUMSTANCES = {0: OneSidedRules(lambda _record: (FindingKind.LOST, ""), lambda _record: (FindingKind.FOREIGN, ""))}
#: More than can be compared each with each.
_MANY = 1_200
_GONE = 700
Payloads = Callable[[int], Payload]


def loose(number: int, timestamp: int) -> UnmatchedRecord:
    return UnmatchedRecord(0, number, 0, number, timestamp, 0)


def told(
    source: dict[int, Payload | Unseen], target: dict[int, Payload | Unseen], *, time_of: Callable[[int], int]
) -> list[tuple[FindingKind, int | None, int | None, int, str]]:
    """Say what became of records, by ordinal."""

    def looking(at: dict[int, Payload | Unseen]) -> PayloadOf:
        return lambda record: found if isinstance(found := at[record.offset], Unseen) else Parts.of(found)

    suspects = Suspects(
        tuple(loose(n, time_of(n)) for n in source),
        tuple(
            loose(n, payload.timestamp or 0 if isinstance(payload, Payload) else time_of(n))
            for n, payload in target.items()
        ),
    )
    found = judge(suspects, source=looking(source), target=looking(target), rules=_CIRCUMSTANCES)
    return [(each.kind, each.source_offset, each.target_offset, each.count, each.detail) for each in found]


def original(number: int, *, at_once: int = 1) -> Payload:
    return Payload(f"k{number}".encode(), f"v{number}".encode(), (("h", b"1"),), number // at_once)


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (FindingKind.CORRUPT_HEADER, lambda p: Payload(p.key, p.value, (), p.timestamp)),
        (FindingKind.CORRUPT_VALUE, lambda p: Payload(p.key, b"other", p.headers, p.timestamp)),
        (FindingKind.CORRUPT_KEY, lambda p: Payload(b"other", p.value, p.headers, p.timestamp)),
        (FindingKind.CORRUPT_TIMESTAMP, lambda p: Payload(p.key, p.value, p.headers, p.timestamp + 10**6)),
    ],
)
@pytest.mark.parametrize("at_once", [1, 100])
def test_a_loss_among_many_changed_records_is_that_one_loss(
    kind: FindingKind, changed: Callable[[Payload], Payload], at_once: int
) -> None:
    records = {n: original(n, at_once=at_once) for n in range(_MANY)}
    copies = [changed(payload) for n, payload in records.items() if n != _GONE]
    found = told({**records}, dict(enumerate(copies)), time_of=lambda n: n // at_once)
    assert found == [
        (kind, 0, 0, _GONE, ""),
        (kind, _GONE + 1, _GONE, _MANY - _GONE - 1, ""),
        (FindingKind.LOST, _GONE, None, 1, ""),
    ]


def test_a_changed_record_is_the_one_that_it_has_most_in_common_with() -> None:
    here = {n: Payload(b"k", b"v%d" % n, (), 5) for n in range(2)}
    assert told({**here}, {0: Payload(b"k", b"v1", (("h", b"1"),), 5)}, time_of=lambda _n: 5) == [
        (FindingKind.CORRUPT_HEADER, 1, 0, 1, ""),
        (FindingKind.LOST, 0, None, 1, ""),
    ]


def test_of_many_records_of_equal_value_the_one_that_is_missing_is_named() -> None:
    records = {n: Payload(None, b"same", (("h", b"1"),), n) for n in range(300)}
    copies = [Payload(None, b"same", (), n) for n in records if n != 17]
    assert told({**records}, dict(enumerate(copies)), time_of=lambda n: n) == [
        (FindingKind.CORRUPT_HEADER, 0, 0, 17, ""),
        (FindingKind.CORRUPT_HEADER, 18, 17, 282, ""),
        (FindingKind.LOST, 17, None, 1, ""),
    ]


def test_a_strange_record_of_the_same_key_takes_none_from_a_changed_one() -> None:
    here = {0: Payload(b"hot", b"lost", (), 5), 1: Payload(b"hot", b"changed", (), 5)}
    there = {0: Payload(b"hot", b"changed", (("h", b"1"),), 5), 1: Payload(b"hot", b"strange", (), 5)}
    assert told({**here}, {**there}, time_of=lambda _n: 5) == [
        (FindingKind.CORRUPT_HEADER, 1, 0, 1, ""),
        (FindingKind.LOST, 0, None, 1, ""),
        (FindingKind.FOREIGN, None, 1, 1, ""),
    ]


def test_a_record_that_was_changed_and_came_out_of_order_is_not_lost() -> None:
    here = {n: original(n) for n in range(4)}
    late = Payload(here[0].key, here[0].value, (), here[0].timestamp)
    there = dict(enumerate([Payload(p.key, b"other", p.headers, p.timestamp) for p in (here[1], here[2], here[3])]))
    assert told({**here}, {**there, 3: late}, time_of=lambda n: n) == [
        (FindingKind.CORRUPT_VALUE, 1, 0, 3, ""),
        (FindingKind.CORRUPT_HEADER, 0, 3, 1, "also its position in the order"),
    ]


def test_what_is_lost_among_thousands_of_the_same_millisecond_is_named_where_two_parts_were_rewritten() -> None:
    records = {n: Payload(b"k%d" % (n % 7), b"v%d" % n, (("h", b"1"),), n // 500) for n in range(4_000)}
    lost = {*range(1_000, 1_400), *range(7, 4_000, 250)}
    copies = [Payload(p.key, p.value, (), 10_000 + n // 500) for n, p in records.items() if n not in lost]
    found = told({**records}, dict(enumerate(copies)), time_of=lambda n: n // 500)
    missing = [
        at + n for kind, at, _, count, _ in found if kind is FindingKind.LOST and at is not None for n in range(count)
    ]
    assert sorted(missing) == sorted(lost)
    assert {kind for kind, *_ in found} == {FindingKind.LOST, FindingKind.CORRUPT_HEADER}


@pytest.mark.parametrize("value", [None, b""])
def test_a_deletion_whose_time_was_changed_is_named_by_its_key(value: bytes | None) -> None:
    here = {0: Payload(b"key", value, (), 5)}
    assert told({**here}, {0: Payload(b"key", value, (), 6)}, time_of=lambda _n: 5) == [
        (FindingKind.CORRUPT_TIMESTAMP, 0, 0, 1, "")
    ]
    found = told({0: Payload(b"", value, (), 5)}, {0: Payload(b"", value, (), 6)}, time_of=lambda _n: 5)
    assert [kind for kind, *_ in found] == [FindingKind.LOST, FindingKind.FOREIGN], (
        "nothing names a record that has no content"
    )


def test_a_value_that_is_missing_is_not_an_empty_one() -> None:
    here, there = {0: Payload(b"key", None, (), 5)}, {0: Payload(b"key", b"", (), 5)}
    assert told({**here}, {**there}, time_of=lambda _n: 5) == [(FindingKind.CORRUPT_VALUE, 0, 0, 1, "")]


@pytest.mark.parametrize(
    ("here", "there", "detail"),
    [
        (Unseen.GONE, Unseen.GONE, "neither cluster has its payload"),
        (Unseen.GONE, original(0), "the source no longer has its payload"),
        (original(0), Unseen.REFUSED, "the target did not give out its payload"),
        (
            Unseen.TOO_MUCH,
            Unseen.REFUSED,
            "the source has more records to read again than an audit reads; the target did not give out its payload",
        ),
    ],
)
def test_why_a_payload_was_not_read_is_said_of_each_cluster(
    here: Payload | Unseen, there: Payload | Unseen, detail: str
) -> None:
    assert told({0: here}, {0: there}, time_of=lambda _n: 0) == [(FindingKind.CORRUPT_UNKNOWN, 0, 0, 1, detail)]


def test_the_digests_of_a_payload_take_no_more_room_than_those_of_a_small_one() -> None:
    large = Parts.of(Payload(b"k" * 10**6, b"v" * 10**6, (("h", b"1" * 10**6),), 0))
    assert [len(part) for part in large[:3] if isinstance(part, bytes)] == [16, 16, 16]

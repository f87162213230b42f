"""A partition that is aligned in parts ends as one that is aligned as a whole; no broker, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from copy_audit.expired import ComparedRange, Span
from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.matching import compare, find_ancestors
from copy_audit.partitions import AuditLookups, PartitionLogs
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from copy_audit.work_items import AlignedItem, ItemRow, WorkItem, aligned_rows, confirmed, cut, joined
from jobs.checksum.compared_logs import ComparedLogs
from jobs.fingerprint_log import FingerprintLog, FlowEnd
from support.compared_topics import NOW, TOPIC, ComparedHistory, numbers
from support.topic_audits import OLD

_ONE_IN = 4


class PlainLog(FingerprintLog):
    """The log's folder as Python sees it, without a session."""

    def exists(self, name: str, end: FlowEnd) -> bool:
        return Path(self.folder(name, end).removeprefix("file://")).is_dir()


def in_items(logs: PartitionLogs, *, every: int, used: list[WorkItem] | None = None) -> PartitionLogs:
    """Return the same logs as tasks would have matched them."""
    source, target = whole(logs)
    rows: dict[WorkItem, dict[ItemRow, Longs]] = {}

    def align(items: Sequence[WorkItem]) -> Mapping[WorkItem, AlignedItem]:
        for each in items:
            rows[each] = dict(aligned_rows(within(source, each.source), within(target, each.target)))
        return {each: AlignedItem.of(rows[each]) for each in items}

    samples = [log.at(np.flatnonzero(log.hashes % _ONE_IN == 0)) for log in (source, target)]
    done = confirmed(cut(logs.partition, samples[0], samples[1], every=every), align)
    if used is not None:
        used += done
    kept = [
        Fingerprints.joined([Fingerprints(*rows[item][kind].T) for item in done])
        for kind in (ItemRow.SOURCE, ItemRow.TARGET)
    ]
    times = dict(zip(source.offsets.tolist(), source.dated().timestamps.tolist(), strict=True))
    here, there, matched = joined(list(done.values()), (kept[0], kept[1]), times.__getitem__)
    return replace(logs, source=here, target=there, matched=matched)


def whole(logs: PartitionLogs) -> tuple[Fingerprints, Fingerprints]:
    assert isinstance(logs.source, Fingerprints)
    assert isinstance(logs.target, Fingerprints)
    return logs.source, logs.target


def within(log: Fingerprints, span: Span) -> Fingerprints:
    return log.since(span[0]).below(span[1])


@pytest.mark.parametrize("seed", range(12))
def test_parts_find_what_the_whole_finds_and_count_what_it_counts(tmp_path: Path, seed: int) -> None:
    history = ComparedHistory.make(seed, partitions=4, records=2_000)
    history.write(tmp_path)
    log = ComparedLogs(PlainLog(None, f"file://{tmp_path}"), {"source": "east", "target": "west"}, history.history)  # type: ignore[arg-type]
    logs, _ = log.of_topic(NOW, TOPIC, history.plan, history.resolved, history.gone)
    lookups = AuditLookups(history.payloads, nowhere, keys=history.keys)
    limits = {"young_from": (0, OLD, 100_000)[seed % 3], "late_before": (-OLD, 1_000_000)[seed % 2]}
    as_one = audit_topic(logs, compacted=False, lookups=lookups, **limits)
    items: list[WorkItem] = []
    parts = [in_items(each, every=40, used=items) for each in logs]
    assert len(items) > len(logs), "nothing was cut"
    compared = partial(find_ancestors, [compare(each.partition, each.source, each.target) for each in logs])
    found = audit_topic(parts, compacted=False, lookups=replace(lookups, compared=compared), **limits)
    assert [numbers(each) for each in found] == [numbers(each) for each in as_one]


def plain(contents: Sequence[int]) -> Fingerprints:
    return Fingerprints(*(np.array(each, np.int64) for each in (range(len(contents)), [0] * len(contents), contents)))


def between(source: Sequence[int], target: Sequence[int]) -> PartitionLogs:
    ranges = ComparedRange(0, len(source)), ComparedRange(0, len(target))
    return PartitionLogs(0, plain(source), plain(target), *ranges)


def test_a_cut_where_source_and_target_are_not_in_step_is_taken_back() -> None:
    """The only sampled record in the middle is the one that was moved, and all others between are not sampled."""
    contents = [_ONE_IN * n if n in (100, 900) else _ONE_IN * n + 1 for n in range(2_000)]
    moved = [*contents[:900], *contents[901:1_300], contents[900], *contents[1_300:]]
    items: list[WorkItem] = []
    logs = in_items(between(contents, moved), every=1, used=items)
    assert len(items) == 1
    assert logs.matched is not None
    assert logs.matched.blocks.tolist() == [[0, 0, 900], [901, 900, 399], [1_300, 1_300, 700]]


def test_a_block_that_a_cut_divides_is_one_block() -> None:
    contents = [_ONE_IN * n for n in range(5_000)]
    items: list[WorkItem] = []
    logs = in_items(between(contents, contents), every=500, used=items)
    assert len(items) == 10
    assert logs.matched is not None
    assert logs.matched.blocks.tolist() == [[0, 0, 5_000]]
    assert len(logs.source) == 5_000

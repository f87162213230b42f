"""Wait until the target's copies hold what groups have read in logs of the source that no fence closes.

The fence of the source stops its own topics, and they are drained. What other clusters write, and a source that serves
others, continues: a copy on the target may lack for a moment what a group has read on the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafka_dr.group_offsets.transfers import PositionTransfer
from kafka_dr.positions import Committed, TopicPartition
from kafka_dr.replication.moving import data_ends
from kafka_dr.runs.run import Run
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: By partition: next to read, or next to copy.
_Offsets = Mapping[TopicPartition, int]


def wait_until_read_is_copied(run: Run, committed: Mapping[PositionTransfer, Committed]) -> None:
    """Wait as long as groups get to reach the end; what is still missing then, the translation of offsets judges.

    :param committed: between which logs offsets are moved, and what groups have committed in those of the source, by
        the names of the originals
    """
    asked = [ask for each, of in committed.items() if (ask := _is_copied(run, each, of)) is not None]
    if asked:
        wait_until(
            lambda: all(ask() for ask in asked),
            bool,
            clock=run.clock,
            seconds=run.group.timing.drain_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )


def _is_copied(run: Run, transfer: PositionTransfer, committed: Committed) -> Callable[[], bool] | None:
    """Return what says whether the target holds what was read; ``None`` where it does in any case."""
    drained = transfer.follows_flow and run.declared.closes(run.source)
    read = _furthest(committed.values())
    if transfer.on_target is None or drained or not read:
        return None
    flow = run.clients.replicator(run.flow_between(transfer.origin, run.target))
    if transfer.follows_flow:
        log = run.clients.cluster(run.source, "audit")

        def wanted(copied: _Offsets) -> _Offsets:
            return data_ends(log, copied, read)
    else:
        reached = run.clients.replicator(run.flow_between(transfer.origin, run.source)).positions()

        def wanted(copied: _Offsets) -> _Offsets:
            return {p: reached.get(p, 0) for p in read}

    def is_copied() -> bool:
        copied = flow.positions()
        return all(copied.get(p, 0) >= offset for p, offset in wanted(copied).items())

    return is_copied


def _furthest(found: Iterable[_Offsets]) -> dict[TopicPartition, int]:
    """Return the greatest offset of each partition."""
    furthest: dict[TopicPartition, int] = {}
    for offsets in found:
        for partition, offset in offsets.items():
            furthest[partition] = max(offset, furthest.get(partition, 0))
    return furthest

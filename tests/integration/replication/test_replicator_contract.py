"""What everybody relies on, whatever runs the flows: MirrorMaker 2 on Connect, and threads, on the same brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.replication.flow import FlowNotFound
from kafka_dr.replication.replicator import Positions
from lab.api import Lab
from support.copying_threads import CopyingThreads
from support.plain_flow import PlainFlow
from support.protection import Protection

pytestmark = pytest.mark.kafka

_SECONDS = 60.0


@pytest.fixture(params=["mirrormaker", "threads"])
def copied(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path) -> Iterator[PlainFlow]:
    """A group that nothing copies yet."""
    protection = Protection(lab, tmp_path)
    protection.create()
    with ExitStack() as stack:
        stack.callback(protection.delete_flows)
        if request.param == "threads":
            stack.enter_context(CopyingThreads.copying(protection))
        yield PlainFlow(protection, stack.enter_context(protection.clients()))


def eventually(look: Callable[[], object], expected: object) -> None:
    deadline = time.monotonic() + _SECONDS
    while (seen := look()) != expected:
        assert time.monotonic() < deadline, (seen, expected)
        time.sleep(0.1)


def records(flow: PlainFlow, cluster: str, partition: TopicPartition, start: int = 0) -> list[object]:
    """Return the committed records of a partition in their order, with everything that a record has."""
    return [content for offset, content in flow.log(cluster, partition) if offset >= start]


def assert_same(flow: PlainFlow, skipped: TopicPartition) -> None:
    """Both logs hold the same, without the first record of the partition whose first record was skipped."""
    for partition in flow.partitions:
        here = records(flow, "east", partition, start=1 if partition == skipped else 0)
        assert here, "something was written"
        assert records(flow, "west", partition) == here


def test_a_flow_is_made_placed_started_stopped_fenced_and_removed(copied: PlainFlow) -> None:
    flow, replicator = copied.flow, copied.replicator
    one, _ = copied.partitions
    # There is none.
    assert (replicator.flow, replicator.status().state, replicator.setup()) == (flow, "absent", None)
    assert flow.name not in copied.clients.replication.flows_into("west")
    with pytest.raises(FlowNotFound):
        replicator.positions()
    replicator.remove()
    # It is made stopped, with nothing to correct.
    assert (replicator.ensure(), replicator.wait_stopped(_SECONDS).state) == ("created", "stopped")
    setup = replicator.setup()
    assert setup is not None
    assert (setup.exactly_once, setup.also_changes, replicator.differing()) == (True, {}, ())
    assert (replicator.ensure(), replicator.status().at_rest) == ("unchanged", True)
    assert flow.name in copied.clients.replication.flows_into("west")
    # It begins at the positions that it was given, and says so.
    replicator.seed({one: 5}, epoch=6)
    replicator.seed({one: 1}, epoch=7)
    assert replicator.where() == Positions({one: 1}, 7)
    copied.write(20)
    copied.write_in_transactions(6)
    replicator.resume()
    assert replicator.wait_running(_SECONDS).state == "running"
    with pytest.raises(Refused, match="stop it first"):
        replicator.seed({}, epoch=8)
    copied.wait_copied()
    assert_same(copied, one)
    # The target alone knows how far it is, read now or remembered.
    known = {p: end for p, end in replicator.positions().items() if p in copied.partitions}
    for remembered in (False, True):
        eventually(
            lambda remembered=remembered: {  # type: ignore[misc]
                p: end for p, end in replicator.committed(remembered=remembered).items() if p in copied.partitions
            },
            known,
        )
    # Stopped, it copies nothing; then it continues where it was.
    replicator.stop()
    assert replicator.wait_stopped(_SECONDS).at_rest
    ends = copied.audit("west").topics.last_stable_offsets(copied.partitions)
    copied.write(10)
    time.sleep(1.0)  # a flow that still ran would have copied them
    assert copied.audit("west").topics.last_stable_offsets(copied.partitions) == ends
    replicator.resume()
    copied.wait_copied()
    assert_same(copied, one)
    # Who takes its transactional ids over ends it, and it says so; what it had begun is not there twice.
    with copied.protection.cluster("west", "admin") as admin:
        admin.transactions.take_over(replicator.transactional_ids())
    copied.write(10)
    eventually(lambda: replicator.status().state, "failed")
    assert replicator.status().detail
    # Of two tasks one may notice it later: each look restarts what has failed by then, as those of dr_flows do.
    copied.wait_copied(meanwhile=lambda: replicator.restart_failed() if replicator.status().state == "failed" else None)
    assert_same(copied, one)
    # Its positions stay when it is removed, unless they are to be forgotten.
    replicator.stop()
    replicator.wait_stopped(_SECONDS)
    where = replicator.where()
    assert where.seed_epoch == 7
    replicator.remove()
    eventually(lambda: (replicator.status().state, replicator.setup()), ("absent", None))
    assert replicator.ensure() == "created"
    replicator.wait_stopped(_SECONDS)
    assert replicator.where() == where
    replicator.remove(forget=True)
    assert replicator.ensure() == "created"
    replicator.wait_stopped(_SECONDS)
    assert replicator.where() == replace(where, next_to_read={}, seed_epoch=None)


def test_a_new_topic_is_copied_too(copied: PlainFlow) -> None:
    protection, extra = copied.protection, f"{copied.protection.name}.extra"
    copied.start()
    with protection.cluster("east", "admin") as admin:
        admin.topics.create(extra, partitions=1, replication_factor=1, config={})
        protection.produce("east", 5, topic=extra, partitions=1)

    def there() -> int:
        with protection.cluster("west", "admin") as admin:
            if extra not in admin.topics.names():
                return 0
            partition = TopicPartition(extra, 0)
            (end,) = admin.topics.last_stable_offsets([partition]).values()
            return sum(1 for _ in admin.log.read({partition: OffsetRange(0, end)}))

    eventually(there, 5)

"""A take over from MirrorMaker as it is set by default: it copies what is not committed, and what is then aborted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from kafka_dr.adoption.take_over import ahead, stop_existing
from kafka_dr.adoption.take_over.give_back import give_back
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.register import Phase
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.register.taken_over import EXISTING
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.switch import SwitchStopped, switch
from lab import rights
from support import outside_view
from support.acknowledged_writes import Ledger, TransactionalApplication
from support.existing_flow import ExistingFlow
from support.protection import Protection
from support.taking_over import SilentWatch, TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
_SECONDS = 20


@contextmanager
def transactions(protection: Protection) -> Iterator[Ledger]:
    """Let an application write to east in one transaction after the other, and abort every fourth."""
    ledger, settings = Ledger(), {"east": protection.lab.client_settings("east", rights.BILLING_APP)}
    application = TransactionalApplication(
        "payer", ledger, protection.topic, cluster_now=lambda: "east", settings=settings
    )
    application.start()
    try:
        yield ledger
    finally:
        application.stop()


def begun(protection: Protection, name: str, partition: int) -> Producer:
    """Return a producer with an open transaction of five records."""
    settings = protection.lab.client_settings("east", rights.BILLING_APP)
    producer = Producer(
        {**settings, "transactional.id": f"{protection.name}-{name}", "transaction.timeout.ms": 600_000}
    )
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    for number in range(5):
        producer.produce(protection.topic, f"{name}-{number}".encode(), partition=partition)
    assert producer.flush(_SECONDS) == 0
    return producer


class EndsTransactions(SilentWatch):
    """Ends transactions a moment after a step has begun, while it waits for them.

    :param ends: by step, what ends them
    """

    def __init__(self, ends: Mapping[StepName, Sequence[Callable[[float], None]]]) -> None:
        super().__init__()
        self._ends = ends
        self.threads: list[Thread] = []

    def begins(self, step: StepName) -> None:
        self.threads.append(Thread(target=self._end, args=(step,), daemon=True))
        self.threads[-1].start()

    def _end(self, step: StepName) -> None:
        Event().wait(2)
        for end in self._ends.get(step, ()):
            end(_SECONDS)


def copied_to_the_end(existing: ExistingFlow) -> None:
    protection = existing.protection
    with protection.cluster("east", "admin") as east:
        ends = east.topics.high_watermarks([TopicPartition(protection.topic, n) for n in range(2)])
        records = east.log.read({p: OffsetRange(0, end) for p, end in ends.items()}, isolation="read_uncommitted")
        counts = Counter(record.topic_partition for record in records)
    existing.wait_copied(counts)


@pytest.mark.long
def test_what_was_copied_of_open_transactions_is_judged_when_they_end_and_nothing_is_copied_twice(
    existing: ExistingFlow, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection, taking = existing.protection, TakingOver(existing.protection, spark)
    protection.produce("east", 40)
    begun(protection, "first", 0).abort_transaction(_SECONDS)
    protection.produce("east", 20)
    existing.start()
    commits, aborts = begun(protection, "commits", 0), begun(protection, "aborts", 1)
    protection.produce("east", 20)
    copied_to_the_end(existing)

    # They do not end: nothing is stopped, and who has to do what is said.
    with protection.clients() as clients:
        request, asked = taking.prepared(clients)
    assert "5 ABORTED" in asked
    assert "FOREIGN" not in asked
    quick = protection.group.timing.model_copy(update={"step_deadline_seconds": 4.0})
    with (
        protection.changed(timing=quick),
        protection.clients() as clients,
        pytest.raises(SwitchStopped, match=f"{protection.name}-(commits|aborts)") as stopped,
    ):
        switch(request, clients, SilentWatch())
    assert "nothing was stopped" in str(stopped.value)
    assert existing.connect.status(existing.name).settled == "running"
    with protection.clients() as clients:
        assert EXISTING not in clients.register("east").facts(protection.name, request.run)
        assert give_back(request, clients).outcome == "done"

    # They end while the take over waits; another one begins then; and others are open all the time.
    late: list[Producer] = []

    def compare_ahead(*of: Any) -> int:
        found = ahead.compare_ahead(*of)
        late.append(begun(protection, "late", 0))
        copied_to_the_end(existing)
        return found

    monkeypatch.setattr(stop_existing, "compare_ahead", compare_ahead)
    with transactions(protection) as ledger, protection.clients() as clients:
        request, asked = taking.prepared(clients)
        assert "FOREIGN" not in asked
        watch = EndsTransactions(
            {
                StepName.STOP_EXISTING: [commits.commit_transaction, aborts.abort_transaction],
                StepName.VERIFY_TAIL: [lambda seconds: late[0].commit_transaction(seconds)],
            }
        )
        records = switch(request, clients, watch)
        for thread in watch.threads:
            thread.join(_SECONDS)
        state = protection.state("east")
        assert state is not None
        assert (state.phase, state.run) == (Phase.STABLE, request.run)
        seed = FlowSeed.from_json(clients.register("east").facts(protection.name, state.run)[FLOW_SEED])
    verified = next(record for record in records if record.step == StepName.VERIFY_TAIL)
    assert verified.facts["duplicates"] == 0
    protection.produce("east", 20)
    protection.wait_copied()
    assert_every_committed_record_once(protection, ledger, seed)
    # Audits of the new flow begin at its seed, and find nothing.
    assert taking.audit() == 0


def assert_every_committed_record_once(protection: Protection, ledger: Ledger, seed: FlowSeed) -> None:
    """West has every committed record of east once, and this project has copied nothing of what was aborted."""
    on_east, on_west = (
        Counter(value for log in outside_view.contents(protection, cluster).values() for _, _, value, _ in log)
        for cluster in ("east", "west")
    )
    assert {value: on_west[value] for value in on_east if on_west[value] != 1} == {}
    aborted = {value for value in on_west if value not in on_east and not (value or b"").startswith(b"dr.")}
    assert {b"first-0", b"aborts-4"} <= aborted
    assert ledger.void & aborted
    with protection.cluster("west", "admin") as west:
        ends = west.topics.last_stable_offsets(seed.on_target)
        ranges = {p: OffsetRange(start, ends[p]) for p, start in seed.on_target.items() if start < ends[p]}
        new = [record.value for record in west.log.read(ranges)]
    assert not aborted.intersection(new)
    assert len(new) > 10

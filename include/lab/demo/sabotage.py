"""Breaks a run on purpose, on the clusters and not in the data of the check, to show that the check notices.

The saboteur is the lab's admin, above all fences, and a forgotten copy of an application that knows one address only.
It strikes where the run cannot prevent it any more: the steps look again and again up to the hand-over. What ``verify``
names afterwards makes the report red, and the invariants are checked all the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import psutil
from confluent_kafka import OFFSET_BEGINNING, Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.errors import KafkaDrError
from lab.demo.options import Sabotage
from lab.demo.run_evidence import RunEvidence
from lab.demo.stray_producer import StrayProducer
from lab.errors import LabError
from lab.rights import ORDERS_APP
from lab.traffic.logbook import read
from lab.traffic.payments import TOPIC
from lab.traffic.records import Headers, identify

GROUP = "orders-slow"
RECORDS_AT_ONCE = 10
ATTEMPTS = 10
PAUSE_SECONDS = 0.1
CALL_SECONDS = 10.0
LOOK_SECONDS = 0.01


#: After which step's proof the saboteur strikes. Up to the hand-over none looks at the same thing again afterwards.
STRIKES_AFTER = {
    Sabotage.NO_FENCE: "verify",
    Sabotage.NO_DRAIN: "open_target",
    Sabotage.LATE_COMMIT: "cut_over_groups",
    Sabotage.OFFSET_PLUS_ONE: "cut_over_groups",
    Sabotage.DROP_RECORD: "cut_over_groups",
}


#: These move the group that the run has just moved. Its application is stopped from the claim until then: it would
#: read on, and commit what it has read, before or after the strike.
_WITHOUT_READER = frozenset({Sabotage.LATE_COMMIT, Sabotage.OFFSET_PLUS_ONE, Sabotage.OFFSET_ONE_TOO_FAR})


class Saboteur:
    """Waits for its moment in one run and strikes once.

    :param kind: what to break
    :param admin: cluster → settings of the lab's admin
    :param application: cluster → settings of an application's principal
    :param logs: the folder of the applications' logs
    :param reader: returns the process that reads with the group that is moved; it may be about to start again
    """

    def __init__(
        self,
        kind: Sabotage,
        *,
        admin: Mapping[str, Mapping[str, str]],
        application: Mapping[str, Mapping[str, str]],
        logs: Path,
        reader: Callable[[], int],
    ) -> None:
        self._kind = kind
        self._admin = admin
        self._application = application
        self._logs = logs
        self._reader_pid = reader
        self._clients: dict[str, AdminClient] = {}
        self._readers: dict[str, Consumer] = {}
        self._reached: dict[str, KafkaCluster] = {}
        self._done: str | None = None
        self._trouble: str | None = None
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()

    def watch(self, evidence: RunEvidence, *, source: str, target: str) -> None:
        """Begin to watch a run."""
        self._thread = threading.Thread(target=self._lurk, args=(evidence, source, target), daemon=True)
        self._thread.start()

    def result(self) -> str:
        """What was done, in a sentence without its subject; the run having ended."""
        self._leave.set()
        if self._thread is not None:
            self._thread.join(timeout=2 * CALL_SECONDS)
        if self._done is None:
            reason = self._trouble or f"the run never got through {STRIKES_AFTER.get(self._kind, 'the moment for it')}"
            return f"did not come to {self._kind}: {reason}"
        return self._done

    def _is_its_moment(self, evidence: RunEvidence) -> bool:
        """Whether the run has come to where it is to be struck."""
        return evidence.done(STRIKES_AFTER[self._kind])

    def _lurk(self, evidence: RunEvidence, source: str, target: str) -> None:
        strike: Callable[[str, str], str] = getattr(self, f"_{self._kind}")
        self._connect_ahead(target)
        waits_for_claim = self._kind in _WITHOUT_READER
        with ExitStack() as stopped:
            while not self._is_its_moment(evidence):
                if self._leave.is_set():  # the demo has ended, whose waits have deadlines
                    return
                if waits_for_claim and evidence.done("claim"):
                    waits_for_claim = not self._stop_reader(stopped)
                time.sleep(LOOK_SECONDS)
            try:
                self._done = strike(source, target)
            except (KafkaException, KafkaDrError, TimeoutError, LabError, httpx.HTTPError, OSError) as error:
                self._trouble = str(error)

    def _stop_reader(self, stopped: ExitStack) -> bool:
        """Stop the group's application until the strike is done, and return whether that was possible."""
        try:
            process = psutil.Process(self._reader_pid())
            process.suspend()
        except (LabError, psutil.NoSuchProcess):
            return False
        stopped.callback(_let_go, process)
        return True

    def _connect_ahead(self, target: str) -> None:
        """Connect to the target: the next steps follow within half a second, and connecting takes about as long."""
        with suppress(KafkaException, KafkaDrError, KeyError):
            self._client(target).list_topics(timeout=CALL_SECONDS)
            self._reader(target).list_topics(timeout=CALL_SECONDS)
            self._positions(target)

    def _no_fence(self, source: str, _target: str) -> str:
        """The old cluster takes writes again while applications write to the new one."""
        self._lift_write_denies(source)
        written = self._write_as_forgotten_application(source, times=20)
        return (
            f"lifted the write fence of {ORDERS_APP} on {source}; a forgotten application wrote {written} records there"
        )

    def _no_drain(self, source: str, _target: str) -> str:
        """The old cluster acknowledges records after drain read its end; then the fence is put back."""
        lifted = self._lift_write_denies(source)
        try:
            written = self._write_as_forgotten_application(source, times=1)
        finally:
            for change in self._client(source).create_acls(lifted).values():
                change.result(timeout=CALL_SECONDS)
        return f"had {written} records acknowledged by {source} that nobody drains"

    def _late_commit(self, _source: str, target: str) -> str:
        """A group with much lag is set to the end of the log."""
        positions = self._positions(target)
        client = self._client(target)
        wanted = {TopicPartition(each.topic, each.partition): OffsetSpec.latest() for each in positions}
        ends = {each: ask.result(timeout=CALL_SECONDS).offset for each, ask in client.list_offsets(wanted).items()}
        self._place(target, [TopicPartition(each.topic, each.partition, end) for each, end in ends.items()])
        return f"committed the end of {TOPIC} on {target} for {GROUP}, which had not read it"

    def _offset_plus_one(self, _source: str, target: str) -> str:
        """A group misses exactly one record in each partition. Before a disaster it has read more than it committed."""
        moved, seen = [], processed_in(self._logs / f"{GROUP}.jsonl")
        for each in self._first_to_read(target):
            unread = self._first_record(target, each, seen=seen)
            if unread is not None:
                moved.append(TopicPartition(each.topic, each.partition, unread + 1))
        if not moved:
            raise LabError(f"neither {TOPIC} nor a copy of it on {target} holds a record that {GROUP} has not read")
        self._place(target, moved)
        return f"moved {GROUP} past one unread record in {len(moved)} partitions on {target}"

    def _drop_record(self, _source: str, target: str) -> str:
        """One acknowledged record disappears from the target."""
        client = self._client(target)
        first = TopicPartition(TOPIC, 0)
        low = client.list_offsets({first: OffsetSpec.earliest()})[first].result(timeout=CALL_SECONDS).offset
        record = self._first_record(target, TopicPartition(TOPIC, 0, low))
        if record is None:
            raise LabError(f"{TOPIC}-0 on {target} holds no record that could be dropped")
        for dropped in client.delete_records([TopicPartition(TOPIC, 0, record + 1)]).values():
            dropped.result(timeout=CALL_SECONDS)
        return f"deleted the record at offset {record} of {TOPIC}-0 on {target}"

    def _lift_write_denies(self, cluster: str) -> list[AclBinding]:
        """Remove what keeps the application from writing to the cluster; returns what was removed."""
        denies = AclBindingFilter(
            ResourceType.TOPIC, None, ResourcePatternType.ANY, f"User:{ORDERS_APP}", None, AclOperation.WRITE,
            AclPermissionType.DENY,
        )  # fmt: skip
        (lifted,) = self._client(cluster).delete_acls([denies]).values()
        removed: list[AclBinding] = lifted.result(timeout=CALL_SECONDS)
        if not removed:
            raise LabError(f"{cluster} has no fence against {ORDERS_APP} that could be lifted")
        return removed

    def _write_as_forgotten_application(self, cluster: str, *, times: int) -> int:
        """Write with an application that does not know the route."""
        application = StrayProducer(cluster, self._application[cluster], logs=self._logs)
        written = 0
        for _ in range(ATTEMPTS):  # brokers may decide by the lifted rules for some more milliseconds
            written += application.write(RECORDS_AT_ONCE)
            if written:
                break
            time.sleep(PAUSE_SECONDS)
        for _ in range(times - 1):
            time.sleep(PAUSE_SECONDS)
            written += application.write(RECORDS_AT_ONCE)
        if not written:
            raise LabError(f"{cluster} acknowledged nothing although its fence was lifted")
        return written

    def _positions(self, cluster: str) -> list[TopicPartition]:
        """The group's committed offsets, those in copies with other names among them."""
        if cluster not in self._reached:
            self._reached[cluster] = KafkaCluster(cluster, ClientSettings.from_librdkafka(self._admin[cluster]))
        found = self._reached[cluster].groups.offsets([GROUP], require_stable=False)[GROUP]
        paid = [(p, offset) for p, offset in sorted(found.items()) if _is_paid(p.topic)]
        return [TopicPartition(p.topic, p.partition, offset) for p, offset in paid]

    def _first_to_read(self, cluster: str) -> list[TopicPartition]:
        """Where the group continues in each partition: at the beginning of those in which it has committed nothing."""
        committed = {(each.topic, each.partition): each for each in self._positions(cluster)}
        partitions = sorted(self._partitions(cluster))
        return [committed.get(each, TopicPartition(*each, OFFSET_BEGINNING)) for each in partitions]

    def _partitions(self, cluster: str) -> list[tuple[str, int]]:
        """Every partition of the payments and of their copies."""
        topics = self._client(cluster).list_topics(timeout=CALL_SECONDS).topics.values()
        return [(each.topic, number) for each in topics if _is_paid(each.topic) for number in each.partitions]

    def _place(self, cluster: str, positions: list[TopicPartition]) -> None:
        wanted = ConsumerGroupTopicPartitions(GROUP, positions)
        done = self._client(cluster).alter_consumer_group_offsets([wanted])[GROUP].result(timeout=CALL_SECONDS)
        for each in done.topic_partitions or []:
            if each.error is not None:
                raise KafkaException(each.error)

    def _first_record(
        self, cluster: str, position: TopicPartition, *, seen: Collection[tuple[str, int]] = ()
    ) -> int | None:
        """Offset of the first record of an application from a position on that is none of those."""
        for offset, headers in self._records(cluster, position):
            who = identify(headers)
            if who is not None and (who.application, who.sequence) not in seen:
                return offset
        return None

    def _records(self, cluster: str, position: TopicPartition) -> Iterator[tuple[int, Headers]]:
        """Offset and headers of each record from a position to the end; control records are none."""
        consumer = self._reader(cluster)
        consumer.assign([position])
        while (message := consumer.poll(CALL_SECONDS)) is not None and message.error() is None:
            yield message.offset() or 0, message.headers() or ()

    def _reader(self, cluster: str) -> Consumer:
        if cluster not in self._readers:
            self._readers[cluster] = Consumer(
                {
                    **self._admin[cluster],
                    "group.id": "lab-saboteur",
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                    "enable.partition.eof": True,
                    "fetch.wait.max.ms": 10,
                    "log_level": 2,
                }
            )
        return self._readers[cluster]

    def _client(self, cluster: str) -> AdminClient:
        if cluster not in self._clients:  # kept: a client that is dropped takes its unanswered calls with it
            self._clients[cluster] = AdminClient({**self._admin[cluster], "client.id": "saboteur", "log_level": 2})
        return self._clients[cluster]


def processed_in(log: Path) -> Collection[tuple[str, int]]:
    """Application and number of each record that a reader's log says it has processed, on whichever cluster."""
    rows = (event["records"] for event in read(log) if event["event"] == "processed")
    return {(application, sequence) for records in rows for _, application, sequence in records}


def _is_paid(topic: str) -> bool:
    """Whether a topic is that of the payments, or a copy of it."""
    return topic == TOPIC or topic.endswith(f".{TOPIC}")


def _let_go(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.resume()

"""What the applications say: their logs, read into plain data.

An application's word is taken for what it knew, and for nothing else: a record that was sent and never spoken of again
may or may not have been written, and counts as such. A transaction that was neither committed nor aborted in the log is
decided by the cluster; what it read counts as processed if its records are visible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.invariants.model import Delivery, RecordId, Write
from lab.invariants.names import Names
from lab.traffic.logbook import Event, read


@dataclass(slots=True)
class _Transaction:
    """One transaction as its application saw it."""

    records: frozenset[RecordId]
    deliveries: Sequence[Delivery]
    decided: bool = False


@dataclass(slots=True)
class AppLogs:
    """Everything that the applications say."""

    names: Names = field(default_factory=Names)
    writes: list[Write] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    attempts: Counter[RecordId] = field(default_factory=Counter)
    void: set[RecordId] = field(default_factory=set)
    undecided: list[_Transaction] = field(default_factory=list)

    def resolve(self, visible: Collection[RecordId]) -> None:
        """Count what undecided transactions processed, where the cluster shows that they were committed."""
        for each in self.undecided:
            if not each.records.isdisjoint(visible):
                self.deliveries.extend(each.deliveries)


def read_app_logs(logs: Path, names: Names | None = None) -> AppLogs:
    """Read all logs of a fleet.

    :param logs: the folder of the logs
    :param names: of the topics that they were about; the same everywhere if left out
    """
    said = AppLogs(names or Names())
    for path in sorted(logs.glob("*.jsonl")):
        start = next((event for event in read(path) if event["event"] == "start"), {})
        listen = {"producer": _read_producer, "settler": _read_settler, "reader": _read_reader}.get(
            start.get("role", "")
        )
        if listen is not None:
            listen(path.stem, read(path), said)
    return said


def _read_producer(name: str, events: Iterable[Event], said: AppLogs) -> None:
    """An idempotent producer: acknowledged, refused for certain, or not known."""
    cluster, topic = "", ""
    attempts: Counter[RecordId] = Counter()
    open_attempts: set[RecordId] = set()
    refused: set[RecordId] = set()
    acknowledged: set[RecordId] = set()
    for event in events:
        match event["event"]:
            case "start":
                attempts.update(open_attempts)
                open_attempts = set()
                cluster, topic = event["cluster"], event["topic"]
            case "sent":
                open_attempts.update(RecordId(name, each) for each in event["sequences"])
            case "refused":
                records = {RecordId(name, each) for each in event["sequences"]}
                open_attempts -= records
                refused |= records
            case "acknowledged":
                writes = [
                    Write(RecordId(name, sequence), said.names.place(cluster, topic, number), offset, cluster, at)
                    for sequence, number, offset, at in event["records"]
                ]
                open_attempts -= {write.record for write in writes}
                acknowledged |= {write.record for write in writes}
                said.writes.extend(writes)
    attempts.update(open_attempts)
    said.attempts.update(attempts)
    said.void |= refused - acknowledged - set(attempts)


def _read_settler(name: str, events: Iterable[Event], said: AppLogs) -> None:
    """A transactional producer that reads: what a committed transaction wrote and read, and what an aborted one did."""
    cluster, topic, group, source = "", "", "", ""
    transactions: dict[int, _Transaction] = {}
    for event in events:
        match event["event"]:
            case "start":
                cluster, topic, group, source = (event[name] for name in ("cluster", "topic", "group", "input"))
            case "sent":
                transactions[event["transaction"]] = _Transaction(
                    records=_sequences(name, event["sequences"]),
                    deliveries=[
                        Delivery(
                            group,
                            RecordId(application, sequence),
                            said.names.place(cluster, copy[0] if copy else source, number),
                            offset,
                            cluster,
                            event["at"],
                        )
                        for number, offset, application, sequence, *copy in event["inputs"]
                        if application is not None
                    ],
                )
            case "committed":
                transaction = transactions[event["transaction"]]
                transaction.decided = True
                said.deliveries.extend(transaction.deliveries)
                said.writes.extend(
                    Write(
                        RecordId(name, sequence),
                        said.names.place(cluster, topic, number),
                        offset,
                        cluster,
                        event["at"],
                    )
                    for sequence, number, offset in event["records"]
                )
            case "aborted":
                transactions[event["transaction"]].decided = True
                said.void |= transactions[event["transaction"]].records
    said.undecided = [each for each in transactions.values() if not each.decided]
    said.attempts.update(record for each in said.undecided for record in each.records)


def _sequences(name: str, first_and_last: Sequence[int]) -> frozenset[RecordId]:
    return frozenset(RecordId(name, each) for each in range(first_and_last[0], first_and_last[1] + 1))


def _read_reader(_name: str, events: Iterable[Event], said: AppLogs) -> None:
    """A group that only reads: what it processed, and where."""
    start: Mapping[str, str] = {}
    for event in events:
        if event["event"] == "start":
            start = event
        elif event["event"] == "processed":
            partition = said.names.place(start["cluster"], event["topic"], event["partition"])
            said.deliveries.extend(
                Delivery(
                    start["group"], RecordId(application, sequence), partition, offset, start["cluster"], event["at"]
                )
                for offset, application, sequence in event["records"]
            )

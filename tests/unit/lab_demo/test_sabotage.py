"""What is broken on purpose is broken: a group that is moved past a record has not read that one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from lab.demo import sabotage
from lab.demo.options import Sabotage
from lab.demo.run_evidence import RunEvidence
from lab.demo.sabotage import GROUP, Saboteur
from lab.traffic.logbook import Logbook
from lab.traffic.payments import TOPIC
from lab.traffic.records import Headers, headers

COMMITTED = 10
LOG = {
    9: headers("payments", 5, key=b"", value=b"", time_ms=0),
    10: headers("payments", 6, key=b"", value=b"", time_ms=0),
    11: [],
    12: headers("billing", 6, key=b"", value=b"", time_ms=0),
    14: headers("payments", 7, key=b"", value=b"", time_ms=0),
}


class SaboteurInMemory(Saboteur):
    """Finds one partition, and a group that has committed less than it has read."""

    uncommitted: tuple[str, ...] = ()

    def __init__(self, logs: Path) -> None:
        super().__init__(Sabotage.OFFSET_PLUS_ONE, admin={}, application={}, logs=logs, reader=lambda: 0)
        self.placed: list[int] = []

    def _is_its_moment(self, evidence: RunEvidence) -> bool:
        return True

    def _connect_ahead(self, target: str) -> None:
        """Nobody to connect to."""

    def _stop_reader(self, stopped: object) -> bool:
        return True

    def _partitions(self, cluster: str) -> list[tuple[str, int]]:
        return [(TOPIC, 0), *((topic, 0) for topic in self.uncommitted)]

    def _positions(self, cluster: str) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, 0, COMMITTED)]

    def _records(self, cluster: str, position: TopicPartition) -> Iterator[tuple[int, Headers]]:
        yield from ((offset, found) for offset, found in LOG.items() if offset >= position.offset)

    def _place(self, cluster: str, positions: list[TopicPartition]) -> None:
        self.placed += [each.offset for each in positions]


@pytest.mark.parametrize(
    ("read", "moved_to"),
    [([], 11), ([6], 13), ([5], 11)],
    ids=["read as far as committed", "read further", "read before only"],
)
def test_a_group_is_moved_past_a_record_that_it_has_not_read(tmp_path: Path, read: list[int], moved_to: int) -> None:
    assert struck(tmp_path, [("payments", number) for number in read]) == (
        [moved_to],
        f"moved {GROUP} past one unread record in 1 partitions on west",
    )


def test_it_waits_for_its_moment_as_long_as_the_demo_waits_for_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sabotage, "PATIENCE_SECONDS", 0.0, raising=False)
    looks = iter([False] * 5)
    monkeypatch.setattr(SaboteurInMemory, "_is_its_moment", lambda *_: next(looks, True))
    assert struck(tmp_path, []) == ([11], f"moved {GROUP} past one unread record in 1 partitions on west")


def test_it_leaves_when_the_demo_ends_before_its_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SaboteurInMemory, "_is_its_moment", lambda *_: False)
    saboteur = SaboteurInMemory(tmp_path)
    saboteur.watch(RunEvidence(tmp_path, group="orders", run="demo-1"), source="east", target="west")
    assert saboteur.result().startswith("did not come to offset_plus_one")
    assert saboteur._thread is not None
    assert not saboteur._thread.is_alive()


def test_a_group_that_has_read_everything_is_not_moved_and_that_is_said(tmp_path: Path) -> None:
    everything = [("payments", 6), ("billing", 6), ("payments", 7)]
    assert struck(tmp_path, everything) == (
        [],
        f"did not come to offset_plus_one: neither {TOPIC} nor a copy of it on west holds a record that {GROUP} has not"
        " read",
    )


def test_a_copy_in_which_a_group_has_committed_nothing_is_read_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SaboteurInMemory, "uncommitted", (f"west.{TOPIC}",))
    assert struck(tmp_path, [("payments", 6)])[0] == [13, 10]


def struck(logs: Path, read: list[tuple[str, int]]) -> tuple[list[int], str]:
    with Logbook(logs / f"{GROUP}.jsonl", now=lambda: 0.0) as log:
        log.write("start", role="reader", cluster="east", group=GROUP)
        for application, number in read:
            # Where it was read does not matter: the other cluster has other offsets.
            log.write("processed", topic=TOPIC, partition=0, records=[(100 + number, application, number)])
    saboteur = SaboteurInMemory(logs)
    saboteur.watch(RunEvidence(logs, group="orders", run="demo-1"), source="east", target="west")
    assert saboteur._thread is not None
    saboteur._thread.join(timeout=60)
    return saboteur.placed, saboteur.result()

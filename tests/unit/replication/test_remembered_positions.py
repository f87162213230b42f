from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.replication import remembered_positions as positions
from kafka_dr.replication.connect_topic import ReadSoFar

NOW = datetime(2026, 11, 23, 3, tzinfo=UTC)
READ = ReadSoFar("an-id", {TopicPartition("connect-west-offsets", 4): 17}, {b'["b"]': b"1", b'["a"]': b"2"})


def kept(root: Path, *, age: timedelta = timedelta(minutes=1), topic: str = "connect-west-offsets") -> object:
    file = positions.file_of(root, "west")
    file.write(positions.Remembered("connect-west-offsets", NOW - age, READ))
    return positions._believed(file, topic, NOW)


def test_what_was_read_is_continued_by_the_next_process(tmp_path: Path) -> None:
    found = kept(tmp_path)
    assert isinstance(found, positions.Remembered)
    assert found.read == READ
    assert list(found.read.newest) == list(READ.newest), "the order is that of the newest records"


@pytest.mark.parametrize("age", [timedelta(hours=2), timedelta(minutes=-1)])
def test_after_an_hour_the_whole_topic_is_read_again(tmp_path: Path, age: timedelta) -> None:
    assert kept(tmp_path, age=age) is None


def test_what_was_read_of_another_topic_is_not_believed(tmp_path: Path) -> None:
    assert kept(tmp_path, topic="connect-offsets") is None


def test_a_few_offsets_are_read_again_rather_than_written_each_minute() -> None:
    partition = TopicPartition("connect-west-offsets", 4)

    def worth(topic_id: str, end: int) -> bool:
        return positions._worth_keeping(READ, ReadSoFar(topic_id, {partition: end}))

    assert not worth("an-id", 500)
    assert worth("an-id", 5_000)
    assert worth("another", 18)
    assert worth("an-id", 3)

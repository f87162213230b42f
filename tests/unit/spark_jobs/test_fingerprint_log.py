"""Files of the fingerprint log come back as what was written, whether they hold one partition or several."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.log_files import holds_untimed, read_file
from kafka_dr.clusters import TopicPartition
from support.compared_topics import LOG_ROWS

_ROW = tuple[str, int, int, int, int, int | None]
_SCHEMA = LOG_ROWS.remove(LOG_ROWS.get_field_index("stamped"))


def rows(topic: str, partition: int, offsets: range, *, keyed: bool = False) -> list[_ROW]:
    return [(topic, partition, n, 1_000 + n, -(n**17), 7 * n if keyed else None) for n in offsets]


def read(folder: Path, written: list[_ROW], *, groups_of: int = 100) -> list[_ROW]:
    path = folder / "part-0.parquet"
    columns = dict(zip(_SCHEMA.names, map(list, zip(*written, strict=True)), strict=True))
    pq.write_table(pa.table(columns, _SCHEMA), path, row_group_size=groups_of)
    return sorted(
        (partition.topic, partition.partition, *numbers)
        for partition, log in read_file(path)
        for numbers in zip(
            log.offsets.tolist(),
            log.timestamps.tolist(),
            log.hashes.tolist(),
            [None] * len(log) if log.keys is None else log.keys.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("keyed", [False, True])
def test_a_file_of_one_partition_comes_back(tmp_path: Path, keyed: bool) -> None:
    written = rows("orders", 3, range(1, 6), keyed=keyed)
    assert read(tmp_path, written, groups_of=2) == written


def test_partitions_of_several_groups_of_rows_are_separated(tmp_path: Path) -> None:
    written = [*rows("orders", 0, range(3)), *rows("orders", 1, range(2)), *rows("refunds", 1, range(2))]
    assert read(tmp_path, written, groups_of=1) == written


def test_partitions_of_one_group_of_rows_are_separated(tmp_path: Path) -> None:
    written = [*rows("orders", 0, range(3)), *rows("refunds", 0, range(2))]
    assert read(tmp_path, written) == written


def test_a_file_that_says_nothing_about_itself_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "part-0.parquet"
    columns = zip(_SCHEMA.names, map(list, zip(*rows("orders", 2, range(4)), strict=True)), strict=True)
    pq.write_table(pa.table(dict(columns), _SCHEMA), path, write_statistics=False)
    [(partition, log)] = read_file(path)
    assert (partition, log.offsets.tolist(), log.keys) == (TopicPartition("orders", 2), [0, 1, 2, 3], None)


@pytest.mark.parametrize(("time", "lacks"), [(-1, True), (-5_000, False), (0, False)])
def test_a_file_says_whether_a_record_has_no_timestamp(tmp_path: Path, time: int, lacks: bool) -> None:
    path = tmp_path / "part-0.parquet"
    times = [1_000, -7, time, 2_000] if time else [1_000, time]
    pq.write_table(pa.table({"timestamp": pa.array(times, pa.int64())}), path, row_group_size=2)
    assert holds_untimed(path) == lacks

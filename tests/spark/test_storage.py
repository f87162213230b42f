"""A path that Hadoop reaches has the methods that the stores of state need, tested with Hadoop's own local files."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.errors import TryAgain
from kafka_dr.lag.window import Window, WindowStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]


@pytest.fixture
def root(spark: SparkSession, tmp_path: Path) -> Any:
    from jobs.storage import HadoopPath

    return HadoopPath(spark, f"file://{tmp_path}")


def test_results_and_windows_are_kept_replaced_and_read_back(root: Any, tmp_path: Path) -> None:
    result = AuditResult(
        AuditKind.LAG, "orders", "east", "west", 1, AuditVerdict.GREEN, datetime(2026, 3, 1, tzinfo=UTC), "fine"
    )
    later = replace(result, at=datetime(2026, 3, 2, tzinfo=UTC), verdict=AuditVerdict.RED)
    store, window = ResultStore(root), WindowStore(root, "orders", source="east", target="west")
    for each in (result, later):
        assert store.write(each)
        assert store.newest(AuditKind.LAG, group="orders", source="east", target="west") == each
    assert ResultStore(tmp_path).newest(AuditKind.LAG, group="orders", source="east", target="west") == later
    assert window.read() == Window()
    window.write(Window())
    assert window.read() == Window()
    kept = {path.name for path in tmp_path.rglob("*") if path.is_file() and not path.name.endswith(".crc")}
    assert kept == {"newest.json", "window.json"}


def test_what_spark_writes_is_for_this_user_alone(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.session import SETTINGS

    assert SETTINGS["spark.hadoop.fs.permissions.umask-mode"] == "077"
    spark.range(10).write.parquet(f"file://{tmp_path}/stranded/orders/records")
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "stranded").rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (tmp_path / "stranded").rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_path_that_cannot_be_reached_is_said_in_one_sentence(spark: SparkSession) -> None:
    from jobs.storage import HadoopPath

    with pytest.raises(TryAgain, match=r"nowhere://x/y cannot be read or written: .*No FileSystem for scheme"):
        HadoopPath(spark, "nowhere://x/y").read_bytes()


def test_this_machines_own_folders_need_no_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.storage import HadoopPath, path_of

    assert path_of(str(tmp_path), spark) == path_of(f"file://{tmp_path}", spark) == tmp_path
    assert path_of("report", spark) == Path("report")
    assert isinstance(path_of("s3a://bucket/folder", spark), HadoopPath)


def test_a_file_that_was_not_finished_is_not_there(root: Any, tmp_path: Path) -> None:
    def cut_off() -> None:
        with root.joinpath("draft").open("wb") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    assert not (tmp_path / "draft").exists()


def test_a_folder_says_what_it_holds_and_one_that_is_not_there_is_no_file(root: Any, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").write_text("2")
    assert sorted((each.name, str(each)) for each in root.iterdir()) == [
        (name, f"file://{tmp_path}/{name}") for name in ("one", "two")
    ]
    with pytest.raises(FileNotFoundError):
        list(root.joinpath("three").iterdir())

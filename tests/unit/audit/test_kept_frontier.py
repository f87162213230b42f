from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier

REMEMBERED = KeptFrontier(
    identity=("east-id", "west-id", 3),
    topic_ids={"orders.payments": ("a", "b")},
    points={("orders.payments", 1): FrontierPoint(10, 12, 9, 1, 2, 3, 4)},
)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    store = FileFrontierStore(tmp_path, "orders")
    store.write("east-to-west", REMEMBERED)
    assert FileFrontierStore(tmp_path, "orders").read("east-to-west") == REMEMBERED


def test_the_other_direction_and_other_groups_know_nothing_of_it(tmp_path: Path) -> None:
    FileFrontierStore(tmp_path, "orders").write("east-to-west", REMEMBERED)
    assert FileFrontierStore(tmp_path, "orders").read("west-to-east") is None
    assert FileFrontierStore(tmp_path, "billing").read("east-to-west") is None


def test_writing_again_leaves_one_file(tmp_path: Path) -> None:
    store = FileFrontierStore(tmp_path, "orders")
    store.write("east-to-west", REMEMBERED)
    store.write("east-to-west", REMEMBERED)
    assert [path.name for path in (tmp_path / "audits" / "orders").iterdir()] == ["frontier-east-to-west.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema_version": 2}', '{"schema_version": 1}'])
def test_a_file_that_cannot_be_read_means_starting_over_and_says_so(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileFrontierStore(tmp_path, "orders")
    store.write("east-to-west", REMEMBERED)
    (tmp_path / "audits" / "orders" / "frontier-east-to-west.json").write_text(content)
    with caplog.at_level(logging.WARNING):
        assert store.read("east-to-west") is None
    assert "every record is compared again" in caplog.text

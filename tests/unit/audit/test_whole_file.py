"""A file that is replaced as a whole: a reader sees what was there or what is there, and knows what it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_dr.audit.whole_file import read_json, write_whole


def test_a_file_is_replaced_and_no_other_file_is_left(tmp_path: Path) -> None:
    place = tmp_path / "folder" / "in it" / "file.json"
    write_whole(place, b"first")
    write_whole(place, b"second")
    assert place.read_bytes() == b"second"
    assert [each.name for each in place.parent.iterdir()] == ["file.json"]


def test_a_write_that_is_cut_off_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "file.json"
    write_whole(place, b"first")
    with pytest.raises(TypeError):
        write_whole(place, "no bytes")  # type: ignore[arg-type]
    assert place.read_bytes() == b"first"


def test_a_document_of_the_known_schema_is_read(tmp_path: Path) -> None:
    place = tmp_path / "file.json"
    write_whole(place, json.dumps({"schema_version": 2, "found": [1]}).encode())
    assert read_json(place, schema=2)["found"] == [1]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b'{"schema_version": 1}', b"\xff"])
def test_anything_else_is_a_value_that_nobody_takes_for_a_document(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "file.json"
    write_whole(place, content)
    with pytest.raises(ValueError, match=r"schema|Expecting|decode"):
        read_json(place, schema=2)


def test_where_there_is_none_that_is_said_apart(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "file.json", schema=2)

"""A JSON document is read whole or refused; a file with one is replaced as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.json_documents import DocumentDamaged, JsonFile, parsed, write_whole


def test_a_file_is_replaced_and_no_other_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "in it" / "file.json"
    write_whole(path, b"first")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert [each.name for each in path.parent.iterdir()] == ["file.json"]


def test_a_write_that_is_cut_off_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_whole(path, b"first")
    with pytest.raises(TypeError):
        write_whole(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"first"


def numbers(path: Path, *, indent: int | None = None) -> JsonFile[list[int]]:
    def from_json(content: Any) -> list[int]:
        return [int(number) for number in content["found"]]

    return JsonFile(path, 2, lambda found: {"found": found}, from_json, indent)


@pytest.mark.parametrize("indent", [None, 1])
def test_what_was_written_is_read(tmp_path: Path, indent: int | None) -> None:
    file = numbers(tmp_path / "folder" / "file.json", indent=indent)
    assert file.read() is None
    file.write([3, 4])
    assert file.read() == [3, 4]
    assert json.loads(file.path.read_bytes()) == {"found": [3, 4], "schema_version": 2}


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"schema_version": 1, "found": []}'),
        *(b'{"schema_version": 2}', b'{"schema_version": 2, "found": ["x"]}', b'{"schema_version": 2, "found": 7}'),
        *(b'{"schema_version": 2, "found": [1e999]}', b"[" * 200_000),
    ],
)
def test_anything_else_is_damaged_and_the_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = numbers(tmp_path / "file.json")
    write_whole(file.path, content)
    with pytest.raises(DocumentDamaged, match=r"file\.json is damaged: "):
        file.read()


def test_a_document_without_a_schema_is_what_its_reader_accepts() -> None:
    assert parsed(b'{"next": 5}', lambda found: int(found["next"])) == 5
    with pytest.raises(DocumentDamaged):
        parsed(b"[5]", lambda found: int(found["next"]))

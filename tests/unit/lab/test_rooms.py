"""The table of rooms has those of the architecture, each after what it imports, and what each one owns."""

from __future__ import annotations

from pathlib import Path

from test_architecture import OWNERS, imports_of_rooms

from lab.layout import PROJECT
from lab.rooms import table


def rows(project: Path) -> list[tuple[str, ...]]:
    return list(zip(*(map(str, column.cells) for column in table(project).columns), strict=True))


def test_every_room_is_shown_after_what_it_imports_with_its_libraries_and_a_sentence() -> None:
    shown = rows(PROJECT)
    order = [room for room, _, _, _ in shown]
    assert {room: set(needs.split()) for room, _, needs, _ in shown} == imports_of_rooms()
    assert [room for room, _, needs, _ in shown if set(needs.split()) - set(order[: order.index(room)])] == []
    assert {room: libraries.split() for room, _, _, libraries in shown} == {
        room: sorted(library for library, owners in OWNERS.items() if room in owners) for room in order
    }
    assert [room for room, owns, _, _ in shown if not owns] == []


def test_a_module_and_a_folder_are_rooms_and_imports_inside_functions_count(tmp_path: Path) -> None:
    core = tmp_path / "include" / "kafka_dr"
    (core / "above").mkdir(parents=True)
    (core / "__init__.py").write_text("")
    (core / "above" / "__init__.py").write_text('"""Owns\nmuch.\n\nAnd more."""\n')
    (core / "above" / "deep.py").write_text(
        "def f():\n    from kafka_dr.ground import x\n    import httpx\n    import json\n"
    )
    (core / "ground.py").write_text('"""The ground."""\n')
    assert rows(tmp_path) == [("ground", "The ground.", "", ""), ("above", "Owns much.", "ground", "httpx")]

"""The rooms of the core as a table: what each one owns, which others it imports, and its libraries."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from rich.table import Table

CORE = "include/kafka_dr"


def table(project: Path) -> Table:
    """Return the rooms from the ground up, a section for each floor: a room imports only rooms of floors above it."""
    rooms = {_name(path): path for path in sorted((project / CORE).iterdir()) if _name(path)}
    taken = {room: set(_imported(path)) for room, path in rooms.items()}
    needs = {
        room: {name.split(".")[1] for name in names if name.startswith("kafka_dr.")} - {room}
        for room, names in taken.items()
    }
    shown = Table("room", "what it owns", "imports", "libraries")
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    while sorter.is_active():
        floor = sorted(sorter.get_ready())
        for room in floor:
            libraries = {name.partition(".")[0] for name in taken[room]} - sys.stdlib_module_names - {"kafka_dr"}
            shown.add_row(
                room,
                _owns(rooms[room]),
                " ".join(sorted(needs[room])),
                " ".join(sorted(libraries)),
                end_section=room == floor[-1],
            )
        sorter.done(*floor)
    return shown


def _name(path: Path) -> str:
    """Return the name of a room, nothing if a file or folder is none."""
    is_room = (path / "__init__.py").is_file() or path.suffix == ".py"
    return path.stem if is_room and not path.stem.startswith("__") else ""


def _owns(room: Path) -> str:
    """Return the first sentence of what a room says of itself."""
    text = (room / "__init__.py" if room.is_dir() else room).read_text("utf-8")
    return " ".join((ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0].split())


def _imported(room: Path) -> Iterator[str]:
    """Yield every module that a room imports; ``from a import b`` as ``a.b``."""
    for path in room.rglob("*.py") if room.is_dir() else [room]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

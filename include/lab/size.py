"""How large the project is: the lines of its Python files, by folder and by what they are."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from rich.table import Table

Kind = Literal["files", "code", "comments", "docstrings", "blank"]
KINDS: tuple[Kind, ...] = ("files", "code", "comments", "docstrings", "blank")
#: Folders by what they belong to; a pattern names each folder that gets a row of its own.
PARTS: Mapping[str, tuple[str, ...]] = {
    "product": ("include/kafka_dr", "plugins", "dags", "spark"),
    "lab": ("include/lab",),
    "tests": ("tests/*", "tests"),
}


def table(project: Path) -> Table:
    """Return the lines of the project: a row for each folder, and one for each part of it."""
    shown = Table("folder", *KINDS, "lines")
    for column in shown.columns[1:]:
        column.justify = "right"
    for part, patterns in PARTS.items():
        rows = {folder: lines for pattern in patterns for folder, lines in _folders(project, pattern) if lines}
        for folder, lines in rows.items():
            shown.add_row(folder, *_cells(lines))
        shown.add_row(f"[bold]= {part}[/]", *_cells(sum(rows.values(), Counter())), end_section=True)
    return shown


def lines_of(text: str) -> Counter[Kind]:
    """Count the lines of a module: one of code and a comment is code, a blank one in a docstring is docstring."""
    docstrings, code, comments = _docstring_lines(text), set[int](), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.string.strip():
            code.update(range(token.start[0], token.end[0] + 1))
    code -= docstrings
    comments -= code
    written = len(code) + len(comments) + len(docstrings)
    blank = len(text.splitlines()) - written
    return Counter[Kind](
        {"files": 1, "code": len(code), "comments": len(comments), "docstrings": len(docstrings), "blank": blank}
    )


def _docstring_lines(text: str) -> set[int]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, documented))
    first = (node.body[0] for node in nodes if ast.get_docstring(node, clean=False) is not None)
    return {line for each in first for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}


def _folders(project: Path, pattern: str) -> Iterator[tuple[str, Counter[Kind]]]:
    for folder in sorted(path for path in project.glob(pattern) if path.is_dir()):
        own = folder.glob("*.py") if pattern == "tests" else folder.rglob("*.py")
        counted = (lines_of(path.read_text("utf-8")) for path in own)
        yield str(folder.relative_to(project)), sum(counted, Counter())


def _cells(lines: Counter[Kind]) -> list[str]:
    return [f"{number:,}" for number in [*(lines[kind] for kind in KINDS), lines.total() - lines["files"]]]

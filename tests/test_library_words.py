"""What a library or Python says of an error reaches no person: sentences take the cause from one function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("include/kafka_dr", "plugins", "spark", "dags")
#: Where an error becomes words.
WORDS = ROOT / "include" / "kafka_dr" / "causes.py"
FILES = sorted({path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")} - {WORDS})
#: What turns an error into text. ``cause`` is the only one that may.
_AS_TEXT = {"str", "repr", "line", "inline", "block", "markdown", "code"}
#: Tasks raise them with sentences of this project. Spark's provider raises one of them, too: see its operator.
_CARRIERS = {"AirflowException", "AirflowFailException", "AirflowSkipException"}
_LIBRARYS = {"BaseException", "Exception", "OSError", "ValueError", "LookupError"}
_WORDS = {"cause", "mistake", "java_cause"}
#: Logs are for who looks for a mistake of this program.
_LOGS = {"debug", "info", "warning", "error", "exception"}


@cache
def our_errors() -> frozenset[str]:
    """Return the names of the classes that this project defines: of its errors, each is a sentence."""
    trees = (ast.parse(path.read_text("utf-8")) for path in FILES)
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def shown_errors(path: Path) -> Iterator[int]:
    """Yield the lines where the text of a library's error, or of Python's, is put into a text."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for name, body in _errors(node):
            yield from (line for each in body for line in _shown(each, name))


def _errors(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the names of an error which may be a library's, each with the statements that know it."""
    if isinstance(node, ast.ExceptHandler) and node.name and not _is_ours(node.type):
        yield node.name, node.body
    if isinstance(node, ast.FunctionDef):
        taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        yield from ((each.arg, node.body) for each in taken if each.annotation and _LIBRARYS & _names(each.annotation))


def _is_ours(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    names = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in kinds]
    return all(name in our_errors() | _CARRIERS for name in names)


def _shown(node: ast.AST, name: str) -> Iterator[int]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOGS:
        return
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _WORDS:
        return
    if isinstance(node, ast.FormattedValue) and (_is(node.value, name) or _is_a_part(node.value, name)):
        yield node.lineno
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _AS_TEXT and any(_is(a, name) for a in node.args):
        yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from _shown(child, name)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_a_part(node: ast.expr, name: str) -> bool:
    """Return whether this is the name of the error's class, or what the operating system calls it."""
    return isinstance(node, ast.Attribute) and node.attr in {"__name__", "strerror", "args"} and name in _names(node)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_holds_the_text_of_a_librarys_error(path: Path) -> None:
    found = sorted(set(shown_errors(path)))
    assert not found, f"{path.relative_to(ROOT)}: lines {found} show an error's own text: use kafka_dr.causes.cause"

"""The pages that people read: links lead somewhere, named files and tests exist, commands are accepted, sizes hold."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from test_architecture import ROOT, tracked_files
from typer.testing import CliRunner

from kafka_dr.command_line.app import app
from lab import cli

PAGES = [path for path in tracked_files() if path.suffix == ".md"]
GUIDE = ROOT / "include" / "guide"
#: The largest that a page may be, in bytes: who opens one reads it whole.
LARGEST = {
    ROOT / "README.md": 10_000,
    ROOT / "include" / "kafka_dr" / "README.md": 15_000,
    **dict.fromkeys(sorted(GUIDE.glob("*.md")), 8000),
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
#: Code in a sentence, or a line of code.
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)|^ {4,}(\S.*)$", re.MULTILINE)
#: A test, and whether the page says that it is a long one.
NAMED_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`( \(long\))?")
#: A file of Python or YAML in a sentence, with its folder.
NAMED_FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|yaml|in|txt))`")
PAGE_OF_GUIDE = re.compile(r"include/guide/([\w-]+\.md)")


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def anchors(page: Path) -> set[str]:
    """Return what a link can name of a page: each heading as GitHub writes it."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(page: Path) -> Iterator[str]:
    """Yield each relative link of a page that leads nowhere."""
    for link in LINK.findall(page.read_text("utf-8")):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target))):
            yield link


@cache
def functions(file: Path) -> Mapping[str, ast.FunctionDef]:
    """Return the functions of a file, by name; none if there is no file."""
    tree = ast.parse(file.read_text("utf-8")) if file.is_file() else ast.Module([], [])
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def is_long(test: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) == "pytest.mark.long" for each in test.decorator_list)


def commands(page: Path, program: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of a program on a page; a comment or a pipe ends one."""
    for code in (inline or line for inline, line in CODE.findall(page.read_text("utf-8"))):
        for call in code.split(program)[1:]:
            yield shlex.split(re.split(r" [|>#&]", call)[0])


def test_every_link_leads_somewhere() -> None:
    assert [(short(page), link) for page in PAGES for link in broken(page)] == []


@pytest.mark.parametrize("link", ["missing.md", "page.md#no-such-part", "#nor-this"])
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str) -> None:
    (page := tmp_path / "page.md").write_text(f"# A part, and its `name`\n[x]({link}) [y](#a-part-and-its-name)\n")
    assert list(broken(page)) == [link]


def test_every_page_of_the_guide_is_found_from_the_readme() -> None:
    readers = [ROOT / "README.md", ROOT / "include" / "kafka_dr" / "README.md"]
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in readers
        for link in LINK.findall(page.read_text("utf-8"))
    }
    assert [short(page) for page in sorted(GUIDE.glob("*.md")) if page not in linked] == []


def test_every_page_of_the_guide_that_a_file_names_exists() -> None:
    texts = (path for path in tracked_files() if path.suffix in {".md", ".py", ".yaml", ".yml", ".in", ".j2"})
    named = {(short(path), name) for path in texts for name in PAGE_OF_GUIDE.findall(path.read_text("utf-8"))}
    assert named
    assert [(path, name) for path, name in sorted(named) if not (GUIDE / name).is_file()] == []


def test_every_named_test_exists_and_is_long_where_a_page_says_so() -> None:
    wrong = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for file, name, long in NAMED_TEST.findall(text):
            found = functions(ROOT / "tests" / file).get(name)
            if found is None or ("*(long)*" in text and is_long(found) != bool(long)):
                wrong.append(
                    f"{short(page)}: {file}::{name} {'does not exist' if found is None else 'is long, or not'}"
                )
    assert wrong == []


def test_every_file_that_a_page_names_with_its_folder_exists() -> None:
    """From the top of the project, the core or the tests."""
    named = {(short(page), name) for page in PAGES for name in NAMED_FILE.findall(page.read_text("utf-8"))}
    tops = (ROOT, ROOT / "include" / "kafka_dr", ROOT / "tests")
    assert len(named) > 10
    assert [each for each in sorted(named) if not any((top / each[1]).is_file() for top in tops)] == []


def test_every_command_on_a_page_is_one_and_takes_these_options() -> None:
    called = [(short(page), each) for page in PAGES for each in commands(page, "python -m kafka_dr ")]
    assert called
    refused = [(page, call) for page, call in called if CliRunner().invoke(app, [*call, "--help"]).exit_code != 0]
    assert refused == []


def test_every_command_of_the_lab_on_a_page_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    """What follows ``test`` is pytest's."""
    wrong = []
    called = [(short(page), each) for page in PAGES for each in commands(page, "python3 include/lab ")]
    for where, call in called:
        arguments = ["1" if each == "N" else each for each in call]
        try:
            cli._parser([]).parse_args(arguments[:1] if arguments[0] == "test" else arguments)
        except SystemExit:
            wrong.append((where, call, capsys.readouterr().err))
    assert wrong == []


@pytest.mark.parametrize("page", LARGEST, ids=short)
def test_pages_are_short(page: Path) -> None:
    assert len(page.read_bytes()) <= LARGEST[page]


def test_the_first_page_is_read_in_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150

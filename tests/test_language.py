"""Plain English, held by a list of words: what each one is called instead, and why.

A word is on the list if it points a tired reader the wrong way, or if the field has a term for it. ``SOURCES`` says
which texts are checked; to check another kind of text, or another folder, add a line there.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the list.

    :param pattern: a regular expression; a space in it also stands for the end of a line
    :param instead: what to write
    :param why: what is wrong with it
    :param but: a regular expression; where it matches around the word, the word is used as it should be
    """

    pattern: str
    instead: str
    why: str
    but: str = ""

    def found_in(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each use of the word that is not a permitted one."""
        permitted = [match.span() for match in _compiled(self.but).finditer(text)] if self.but else []
        for match in _compiled(rf"\b(?:{self.pattern})\b").finditer(text):
            if not any(start <= match.start() and match.end() <= end for start, end in permitted):
                yield match


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)


WORDS = (
    Word("behind", "after, past, next to", "of time and offsets it points the other way", r"far behind|left behind"),
    Word("anew", "again", "rare"),
    Word("mend|mends|mended|mending", "fix", "rare"),
    Word("stand|stands|stood", "is, means, stops", "used for nearly everything, so it says nothing"),
    Word("lie|lies|lay", "is", "files and offsets *are* somewhere"),
    Word("tell|tells|told", "show, say", "settings and brokers do not talk", r"tell the owners"),
    Word("besides?", "next to, in the background, at the same time, also", "four meanings"),
    Word(
        "home",
        "failback, the first cluster",
        "which cluster that is depends on who reads",
        # Of Java, of Airflow and of a lab it is a folder; in braces it is code.
        r"\$HOME|java home|airflow home|lab home|home of the lab|--home|:param home:|``home``|\{[a-z.]*home[^}]*\}",
    ),
    Word("sides?", "cluster: source, target, old, new, active, standby", "says which cluster only to its author"),
    Word("left open", "left empty", "of a form field it reads as unfenced, of a transaction it is *open*"),
    Word("places?", "position, offset, location", "five meanings", r"in place"),
    Word("go on|goes on|going on|went on", "continue, resume", "of a consumer the word is *resumes*"),
    Word("gets? on", "make progress, keep up", "idiom"),
    Word("aside", "quarantined, kept", "says neither where nor how"),
    Word("cross|crosses|crossed|crossing", "replicate, copy", "records do not travel, they are copied"),
    Word("whom", "that, who", "stilted"),
    Word("at rest", "stable, held by no run", "not a phase of the register"),
    Word("in earnest", "in a real run", "idiom"),
    Word("shut|shuts", "fence, deny", "not the word of ACLs"),
    Word("cut apart|to and fro", "separate; back and forth", "idiom"),
    Word("fence is about|fences are about|is through|is no such case", "covers; is complete; is different", "idiom"),
    Word("promises?|promised", "invariant, objective, must", "the field says what has to hold, and what is aimed at"),
    Word("some seconds", "a few seconds", "not idiomatic"),
    Word("put up|puts up|putting up", "add", "idiom"),
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that somebody reads; what is code in it is replaced by as many signs that are no letters."""

    file: Path
    line: int
    text: str


def prose(path: Path) -> Iterator[Passage]:
    """Return a Markdown file without its inline code: names of tasks, keys and parameters are what they are."""
    yield Passage(path, 1, re.sub(r"(?<!`)`[^`\n]+`(?!`)", _blank, path.read_text("utf-8")))


def yaml_comments(path: Path) -> Iterator[Passage]:
    """Return the comments of a YAML file, as one text: sentences go over several lines."""
    lines = (re.sub(r"^(?:[^#]|(?<=\S)#)*#?", _blank, line) for line in path.read_text("utf-8").splitlines())
    yield Passage(path, 1, "\n".join(re.sub(r"(?<=[a-z])_[a-z_]+", _blank, line) for line in lines))


def python_texts(path: Path) -> Iterator[Passage]:
    """Yield the strings of a module that are sentences or labels, and its docstrings."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Passage(path, node.lineno, re.sub(r"``[^`]+``", _blank, node.value))


def python_comments(path: Path) -> Iterator[Passage]:
    """Yield the comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(path, token.start[0], re.sub(r"``[^`]+``", _blank, token.string))


def names_of_tests(path: Path) -> Iterator[Passage]:
    """Yield the names of the tests in a module, as sentences."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Passage(path, node.lineno, node.name.replace("_", " "))


def template_texts(path: Path) -> Iterator[Passage]:
    """Return what a template of a page shows by itself: without tags, styles and what is filled in."""
    code = r"<style>.*?</style>|\{%.*?%\}|\{#.*?#\}|<[^>]*>"
    filled_in = re.sub(r"\{\{.*?\}\}", _only_strings, path.read_text("utf-8"), flags=re.DOTALL)
    yield Passage(path, 1, re.sub(code, _blank, filled_in, flags=re.DOTALL))


def _only_strings(match: re.Match[str]) -> str:
    """Return an expression of a template with everything but its strings blanked; tests and filters compare words."""
    return re.sub(r'"[^"\n]* [^"\n]*"|([^"\n]+|")', lambda part: _blank(part) if part[1] else part[0], match.group())


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if sign == "\n" else "~" if sign != " " else " " for sign in match.group())


#: Rooms of the core, and their tests, whose texts and comments are checked.
PLAIN_ROOMS = (
    "include/kafka_dr/waiting.py",
    "include/kafka_dr/parallel.py",
    "include/kafka_dr/outcomes.py",
    "include/kafka_dr/clock.py",
    "include/kafka_dr/errors.py",
    "include/kafka_dr/named_rows.py",
    "include/kafka_dr/json_documents.py",
    "include/kafka_dr/quoting.py",
    "include/kafka_dr/access_rules/*.py",
    "include/kafka_dr/connections/*.py",
    "include/kafka_dr/http_endpoint.py",
    "include/kafka_dr/kubernetes.py",
    "include/kafka_dr/metrics/*.py",
    "include/kafka_dr/naming.py",
    "include/kafka_dr/observation/*.py",
    "include/kafka_dr/retention/*.py",
    "include/kafka_dr/canary/*.py",
    "include/kafka_dr/replication/*.py",
    "include/kafka_dr/replication/existing/*.py",
    "tests/unit/existing/*.py",
    "include/kafka_dr/routing/*.py",
    "include/kafka_dr/topology/*.py",
    "include/kafka_dr/config_sync/*.py",
    "include/kafka_dr/fencing/*.py",
    "include/kafka_dr/clusters/*.py",
    "tests/unit/clusters/*.py",
    "tests/integration/clusters/*.py",
    "include/kafka_dr/command_line/*.py",
    "include/kafka_dr/drill/*.py",
    "include/kafka_dr/notifications/*.py",
    "include/kafka_dr/readiness/*.py",
    "include/kafka_dr/readiness_checks/*.py",
    "include/kafka_dr/rounds/*.py",
    "include/kafka_dr/watch_results/*.py",
    "include/kafka_dr/register/*.py",
    "tests/unit/register/*.py",
    "tests/contract/*.py",
    "tests/unit/topology/*.py",
    "tests/unit/config_sync/*.py",
    "tests/unit/lab/*.py",
    "tests/unit/lab_demo/*.py",
    "tests/unit/test_*.py",
)
#: Which files are checked, and what of them. To check the messages and docstrings of a folder, add a line.
SOURCES: tuple[tuple[str, Callable[[Path], Iterator[Passage]]], ...] = (
    ("README.md", prose),
    ("include/guide/*.md", prose),
    ("include/kafka_dr/README.md", prose),
    ("include/monitoring/README.md", prose),
    ("include/monitoring/*.yaml", yaml_comments),
    ("dags/*.md", prose),
    ("include/topology.example.yaml", yaml_comments),
    ("include/kafka_dr/runs/*.py", python_texts),
    ("include/kafka_dr/runs/*.py", python_comments),
    ("include/kafka_dr/approvals/*.py", python_texts),
    ("include/kafka_dr/approvals/*.py", python_comments),
    ("tests/unit/runs/*.py", python_texts),
    ("tests/unit/runs/*.py", python_comments),
    ("tests/unit/runs/*.py", names_of_tests),
    ("tests/unit/approvals/*.py", python_texts),
    ("tests/unit/approvals/*.py", python_comments),
    ("tests/unit/approvals/*.py", names_of_tests),
    ("include/kafka_dr/adoption/**/*.py", python_texts),
    ("include/kafka_dr/adoption/**/*.py", python_comments),
    ("tests/unit/adoption/*.py", python_texts),
    ("tests/unit/adoption/*.py", names_of_tests),
    ("tests/unit/access_rules/*.py", names_of_tests),
    ("tests/unit/observation/*.py", names_of_tests),
    ("tests/integration/access_rules/*.py", names_of_tests),
    ("tests/integration/patterns/*.py", names_of_tests),
    ("tests/integration/readers/*.py", names_of_tests),
    ("include/kafka_dr/failback/*.py", python_texts),
    ("include/kafka_dr/failback/*.py", python_comments),
    ("include/kafka_dr/failover/**/*.py", python_texts),
    ("include/kafka_dr/failover/**/*.py", python_comments),
    ("tests/unit/failover/*.py", python_texts),
    ("tests/unit/failback/*.py", python_texts),
    ("tests/integration/adoption/*.py", python_texts),
    ("tests/integration/unplanned/*.py", python_texts),
    ("tests/unit/failover/*.py", python_comments),
    ("tests/unit/failover/*.py", names_of_tests),
    ("tests/unit/failback/*.py", python_comments),
    ("tests/unit/failback/*.py", names_of_tests),
    ("tests/integration/adoption/*.py", python_comments),
    ("tests/integration/adoption/*.py", names_of_tests),
    ("tests/integration/unplanned/*.py", python_comments),
    ("tests/integration/unplanned/*.py", names_of_tests),
    ("tests/integration/failover/*.py", python_comments),
    ("tests/integration/failover/*.py", names_of_tests),
    ("tests/integration/failback/*.py", python_comments),
    ("tests/integration/failback/*.py", names_of_tests),
    ("dags/*.py", python_texts),
    ("dags/*.py", python_comments),
    ("plugins/**/*.py", python_texts),
    ("plugins/**/*.py", python_comments),
    ("include/kafka_dr/evidence/*.py", python_texts),
    ("include/kafka_dr/evidence/*.py", python_comments),
    ("include/kafka_dr/evidence/*.j2", template_texts),
    ("docker-compose.yml", yaml_comments),
    ("tests/dags/*.py", python_texts),
    ("tests/dags/*.py", python_comments),
    ("tests/dags/*.py", names_of_tests),
    ("tests/unit/airflow/*.py", python_texts),
    ("tests/unit/airflow/*.py", names_of_tests),
    ("tests/unit/evidence/*.py", python_texts),
    ("tests/unit/evidence/*.py", names_of_tests),
    ("tests/contract/test_evidence_store_contract.py", names_of_tests),
    ("include/lab/**/*.py", python_texts),
    ("include/lab/**/*.py", python_comments),
    ("tests/conftest.py", python_texts),
    ("tests/support/*.py", python_texts),
    ("tests/support/*.py", python_comments),
    ("tests/e2e/*.py", python_texts),
    ("tests/integration/lab/*.py", python_texts),
    ("tests/integration/lab/*.py", python_comments),
    ("include/kafka_dr/disaster/*.py", python_texts),
    ("include/kafka_dr/disaster/*.py", python_comments),
    ("include/kafka_dr/checks/*.py", python_texts),
    ("include/kafka_dr/checks/*.py", python_comments),
    ("include/kafka_dr/health/*.py", python_texts),
    ("include/kafka_dr/health/*.py", python_comments),
    ("tests/unit/checks/*.py", python_texts),
    ("tests/unit/checks/*.py", python_comments),
    ("tests/unit/checks/*.py", names_of_tests),
    ("tests/unit/disaster/*.py", python_texts),
    ("tests/unit/disaster/*.py", python_comments),
    ("tests/unit/disaster/*.py", names_of_tests),
    ("tests/unit/health/*.py", python_texts),
    ("tests/unit/health/*.py", python_comments),
    ("tests/unit/health/*.py", names_of_tests),
    ("tests/unit/watch/*.py", python_texts),
    ("tests/unit/watch/*.py", python_comments),
    ("tests/unit/watch/*.py", names_of_tests),
    ("tests/integration/health/*.py", python_texts),
    ("tests/integration/health/*.py", python_comments),
    ("tests/integration/health/*.py", names_of_tests),
    ("tests/integration/watching/*.py", python_texts),
    ("tests/integration/watching/*.py", python_comments),
    ("tests/integration/watching/*.py", names_of_tests),
    ("include/kafka_dr/positions.py", python_texts),
    ("include/kafka_dr/positions.py", python_comments),
    ("include/kafka_dr/offsets/**/*.py", python_texts),
    ("include/kafka_dr/offsets/**/*.py", python_comments),
    ("include/kafka_dr/rescue/*.py", python_texts),
    ("include/kafka_dr/rescue/*.py", python_comments),
    ("include/kafka_dr/lag/*.py", python_texts),
    ("include/kafka_dr/lag/*.py", python_comments),
    ("include/kafka_dr/group_offsets/*.py", python_texts),
    ("include/kafka_dr/group_offsets/*.py", python_comments),
    ("include/kafka_dr/watch/*.py", python_texts),
    ("include/kafka_dr/watch/*.py", python_comments),
    ("tests/unit/offsets/*.py", python_texts),
    ("tests/unit/offsets/*.py", python_comments),
    ("tests/unit/offsets/*.py", names_of_tests),
    ("tests/unit/rescue/*.py", python_texts),
    ("tests/unit/rescue/*.py", python_comments),
    ("tests/unit/rescue/*.py", names_of_tests),
    ("tests/unit/lag/*.py", python_texts),
    ("tests/unit/lag/*.py", python_comments),
    ("tests/unit/lag/*.py", names_of_tests),
    ("tests/integration/offsets/*.py", python_texts),
    ("tests/integration/offsets/*.py", python_comments),
    ("tests/integration/offsets/*.py", names_of_tests),
    ("tests/integration/lag/*.py", python_texts),
    ("tests/integration/lag/*.py", python_comments),
    ("tests/integration/lag/*.py", names_of_tests),
    ("include/kafka_dr/audit/*.py", python_texts),
    ("include/kafka_dr/audit/*.py", python_comments),
    ("spark/**/*.py", python_texts),
    ("spark/**/*.py", python_comments),
    ("tests/unit/copy_audit/*.py", python_texts),
    ("tests/unit/copy_audit/*.py", python_comments),
    ("tests/unit/copy_audit/*.py", names_of_tests),
    ("tests/unit/spark_jobs/*.py", python_texts),
    ("tests/unit/spark_jobs/*.py", python_comments),
    ("tests/unit/spark_jobs/*.py", names_of_tests),
    ("tests/unit/audit/*.py", python_texts),
    ("tests/unit/audit/*.py", python_comments),
    ("tests/unit/audit/*.py", names_of_tests),
    ("tests/spark/*.py", python_texts),
    ("tests/spark/*.py", python_comments),
    ("tests/spark/*.py", names_of_tests),
    ("tests/integration/audit/*.py", python_texts),
    ("tests/integration/audit/*.py", python_comments),
    ("tests/integration/audit/*.py", names_of_tests),
    ("tests/unit/topology/*.py", names_of_tests),
    ("tests/unit/config_sync/*.py", names_of_tests),
    ("tests/unit/lab/*.py", names_of_tests),
    ("tests/unit/lab_demo/*.py", names_of_tests),
    ("tests/unit/test_*.py", names_of_tests),
    *((pattern, read) for pattern in PLAIN_ROOMS for read in (python_texts, python_comments)),
)
#: What a document quotes although it holds a word of the list, because a log or a report says exactly this. By file.
QUOTED: dict[str, tuple[str, ...]] = {
    # Reasons of rows: the digest of a plan that was approved before covers them.
    "include/kafka_dr/config_sync/rights.py": ("fence lies on top",),
}


def without_quotes(passage: Passage) -> str:
    """Return the text of a passage without what it quotes from a log."""
    text = passage.text
    for quote in QUOTED.get(str(passage.file.relative_to(ROOT)), ()):
        text = _compiled(re.escape(quote).replace(r"\ ", " ")).sub(_blank, text)
    return text


def complaints(passage: Passage) -> Iterator[str]:
    """Yield one line for each use of a listed word."""
    text = without_quotes(passage)
    for word in WORDS:
        for match in word.found_in(text):
            line = passage.line + text.count("\n", 0, match.start())
            said = " ".join(match.group().split())
            yield f"{passage.file.relative_to(ROOT)}:{line}: {said!r}; write: {word.instead} ({word.why})"


@pytest.mark.parametrize(("pattern", "read"), SOURCES, ids=[f"{p} {r.__name__}" for p, r in SOURCES])
def test_what_people_read_is_plain_english(pattern: str, read: Callable[[Path], Iterator[Passage]]) -> None:
    files = sorted(ROOT.glob(pattern))
    assert files, f"{pattern} names no file"
    found = [line for path in files for passage in read(path) for line in complaints(passage)]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("name", QUOTED)
def test_every_quote_is_still_in_its_document(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert [quote for quote in QUOTED[name] if quote not in text] == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("everything behind it is skipped", ["behind"]),
        ("the copy is far behind; some of the records may be left behind", []),
        ("leave source and target\nleft  open", ["left open"]),
        ("leave them empty", []),
        ("Mend what is named, on the other side of it.", ["Mend", "side"]),
        ("the standby and its inside stay", []),
        ("run `put_aside` again; the file is in place", []),
        ("it takes no place", ["place"]),
        ("Tell the owners; brokers tell nobody", ["tell"]),
    ],
)
def test_the_list_finds_a_word_and_leaves_its_proper_use(tmp_path: Path, said: str, words: list[str]) -> None:
    (page := tmp_path / "page.md").write_text(said, "utf-8")
    text = "".join(passage.text for passage in prose(page))
    found = {match.start(): match.group() for word in WORDS for match in word.found_in(text)}
    assert [" ".join(found[start].split()) for start in sorted(found)] == words


def test_a_complaint_names_file_line_word_and_replacement() -> None:
    (line,) = complaints(Passage(ROOT / "README.md", 7, "one\ntwo is done anew"))
    assert line == "README.md:8: 'anew'; write: again (rare)"


def test_only_comments_are_read_of_yaml_and_keys_in_them_are_no_words(tmp_path: Path) -> None:
    page = tmp_path / "page.yaml"
    page.write_text("place: home  # mend\n# as left_behind says\nbeside: '#anew'\n", "utf-8")
    (passage,) = yaml_comments(page)
    assert [match.group() for word in WORDS for match in word.found_in(passage.text)] == ["mend"]

"""Plain English, held by a list of words: what each one is called instead, and why.

A word is on the list if it points a tired reader the wrong way, or if the field has a term for it. Every file of the
project is read that ``READERS`` has a reader for; a new folder needs no line here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
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
    """Yield comments and docstrings, strings that are sentences or labels, and the names of tests as sentences."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Passage(path, node.lineno, re.sub(r"``[^`]+``", _blank, node.value))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Passage(path, node.lineno, node.name.replace("_", " "))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(path, token.start[0], re.sub(r"``[^`]+``", _blank, token.string))


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


#: What people read of a file, by how its name ends.
READERS: Mapping[str, Callable[[Path], Iterator[Passage]]] = {
    ".py": python_texts,
    ".md": prose,
    ".yaml": yaml_comments,
    ".yml": yaml_comments,
    ".j2": template_texts,
}
#: Files and folders at the top of the project that are read.
SOURCES = ("*.md", "*.yml", "dags", "include", "plugins", "spark", "tests")
#: What a document quotes although it holds a word of the list, because a log or a report says exactly this. By file.
QUOTED: dict[str, tuple[str, ...]] = {
    # Reasons of rows: the digest of a plan that was approved before covers them.
    "include/kafka_dr/config_sync/rights.py": ("fence lies on top",),
    # The failback whose run has this name.
    "tests/unit/retention/test_erasing.py": ("failback home holds",),
}


#: Whether a text has any of the words, which most texts do not: one search instead of one for each word.
_ANY = _compiled(rf"\b(?:{'|'.join(word.pattern for word in WORDS)})\b")


def without_quotes(passage: Passage) -> str:
    """Return the text of a passage without what it quotes from a log."""
    text = passage.text
    for quote in QUOTED.get(str(passage.file.relative_to(ROOT)), ()):
        text = _compiled(re.escape(quote).replace(r"\ ", " ")).sub(_blank, text)
    return text


def complaints(passage: Passage) -> Iterator[str]:
    """Yield one line for each use of a listed word."""
    text = without_quotes(passage)
    for word in WORDS if _ANY.search(text) else ():
        for match in word.found_in(text):
            line = passage.line + text.count("\n", 0, match.start())
            said = " ".join(match.group().split())
            yield f"{passage.file.relative_to(ROOT)}:{line}: {said!r}; write: {word.instead} ({word.why})"


def files() -> Iterator[Path]:
    """Yield every file of the project that has a reader; this one names the words."""
    for source in (each for pattern in SOURCES for each in ROOT.glob(pattern)):
        inside = source.rglob("*") if source.is_dir() else [source]
        yield from sorted(path for path in inside if path.suffix in READERS and path != Path(__file__).resolve())


@pytest.mark.parametrize("suffix", READERS)
def test_what_people_read_is_plain_english(suffix: str) -> None:
    found = [path for path in files() if path.suffix == suffix]
    assert found, f"no file ends so: {suffix}"
    complained = [line for path in found for passage in READERS[suffix](path) for line in complaints(passage)]
    assert not complained, "\n".join(["", *complained])


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

"""Numbers with their nouns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_dr.counted import counted

ROOT = Path(__file__).resolve().parents[2]
_NOUNS = (
    "brokers|partitions|topics|offsets|groups|changes|settings|differences|transactions|records|positions|rules|runs"
)


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (1, ("topic",), "1 topic"),
        (0, ("topic",), "0 topics"),
        (3000, ("partition",), "3,000 partitions"),
        (1, ("entry", "entries"), "1 entry"),
        (2, ("change was", "changes were"), "2 changes were"),
    ],
)
def test_one_of_something_is_no_plural(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said


def test_no_sentence_puts_a_number_that_may_be_one_before_a_plural() -> None:
    """Of fractions (1 of 4 partitions) and of each, all and every, several are meant."""
    plural = re.compile(rf"(?<!of )(?<!the )(?<!all )\{{(?:len|sum)\([^{{}}]*\)(?::,)?\}} (?:{_NOUNS})\b")
    files = [*(ROOT / "include" / "kafka_dr").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    assert [f"{p.relative_to(ROOT)}: {found[0]}" for p in files for found in plural.finditer(p.read_text())] == []

"""What is wrong with a topology file, said so that the reader can fix it without opening the code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kafka_dr.errors import NeedsPerson


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """One thing that is wrong in the file.

    :param line: its line, counted from 1; the enclosing section's line for something that is missing
    :param path: the key, such as ``protection_groups.orders.topics[1]``; empty for the file as a whole
    :param seen: what was found, as a clause
    :param expected: what to write instead, as a clause
    """

    line: int
    path: str
    seen: str
    expected: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"line {self.line}: {where}{self.seen}; {self.expected}."


class TopologyError(NeedsPerson):
    """The topology cannot be used. Carries every mistake found, not only the first.

    :param path: the file
    :param mistakes: in the order of their lines
    """

    def __init__(self, path: Path, mistakes: Iterable[Mistake]) -> None:
        self.path = path
        self.mistakes = tuple(sorted(set(mistakes)))
        count = "1 mistake" if len(self.mistakes) == 1 else f"{len(self.mistakes)} mistakes"
        super().__init__("\n".join([f"{path} has {count}:", *self.sentences]))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each mistake as one sentence that starts with ``file:line``, as editors and terminals link it."""
        return tuple(f"{self.path}:{str(mistake).removeprefix('line ')}" for mistake in self.mistakes)

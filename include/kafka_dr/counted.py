"""How many of something, as a sentence says it: ``1 topic is``, ``3,000 topics are``."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    :param one: what one of them is called, with the words that change with the number
    :param many: what several are called; the same with an s if it is empty
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"

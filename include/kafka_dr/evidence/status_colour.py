"""The colour of an outcome on a page. An unknown word is shown as unknown, never as good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StatusColour = Literal["good", "warn", "bad", "unknown"]
#: From the worst to the best.
WORST_COLOUR_FIRST: tuple[StatusColour, ...] = ("bad", "unknown", "warn", "good")


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line of a group's card.

    :param word: the answer, for people, never a colour alone; *UNKNOWN* if it is not known now
    """

    word: str
    colour: StatusColour
    said: str


_TONES: dict[str, StatusColour] = {
    **dict.fromkeys(
        ("ok", "done", "passed", "approved", "exact", "equal", "green", "running", "safe", "note", "nothing"), "good"
    ),
    **dict.fromkeys(
        (
            "would_do",
            "warning",
            "excused",
            "overridden",
            "bounded",
            "declared",
            "warn",
            "needs approval",
            "stranded",
            "groups late",
            "left_out",
        ),
        "warn",
    ),
    **dict.fromkeys(
        ("failed", "refused", "rejected", "unproven", "findings", "red", "stall", "stop", "rewind", "never"), "bad"
    ),
}


def colour_of(outcome: object) -> StatusColour:
    """Return the colour of an outcome; ``unknown`` for an unknown word."""
    return _TONES.get(str(outcome).lower(), "unknown")

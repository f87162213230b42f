"""How an outcome looks on the page. A word that is not known is unknown, and unknown never looks good."""

from __future__ import annotations

from typing import Literal

StatusColour = Literal["good", "warn", "bad", "unknown"]

_TONES: dict[str, StatusColour] = {
    **dict.fromkeys(
        ("ok", "done", "passed", "approved", "exact", "equal", "green", "running", "safe", "note", "nothing"), "good"
    ),
    **dict.fromkeys(
        (
            "would_do",
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
    """Return how an outcome looks; a word that is not known is unknown."""
    return _TONES.get(str(outcome).lower(), "unknown")

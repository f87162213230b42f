"""What the note on a run says: the words of a person are kept, and no secret is shown. Pure text, no Airflow."""

from __future__ import annotations

import re

from kafka_dr.errors import Refused
from kafka_dr.evidence.known_secrets import KnownSecrets, refuse_secrets

#: The longest note that Airflow accepts, in characters.
MOST = 1000
#: How a note of this project ends. What does not end like this was written by a person.
MARK = "(written by this DAG)"
#: A shorter note would not say enough.
_LEAST = 200
_PARAGRAPH = "\n\n"
_BLANK_LINES = re.compile(r"\n\s*\n")


def combined(present: str, note: str, *, link: str) -> str | None:
    """Return the note for a run: first what a person wrote, then the new note, which replaces an earlier one of ours.

    :param present: the note that the run has; empty if it has none
    :param link: Markdown that the new note ends with, and that is never cut
    :returns: at most 1,000 characters; ``None`` if what a person wrote leaves no room, because it is never cut
    """
    kept = _of_a_person(present)
    room = MOST - len(kept) - (len(_PARAGRAPH) if kept else 0)
    ending = f"{link} {MARK}"
    ours = f"{_BLANK_LINES.sub(chr(10), note.strip())} {ending}"
    if len(ours) > room:
        if room < _LEAST:
            return None
        ours = f"{ours[: room - len(ending) - 2]}… {ending}"
    return f"{kept}{_PARAGRAPH}{ours}" if kept else ours


def _of_a_person(present: str) -> str:
    before, _, last = present.rpartition(_PARAGRAPH)
    return (before if last.rstrip().endswith(MARK) else present).strip()


def without_secrets(note: str, known: KnownSecrets) -> str:
    """Return the note; if it holds a secret, a sentence that says so instead."""
    try:
        refuse_secrets({"note": note}, known)
    except Refused:
        return "The note on this run held a secret, so it was not written: see the log of the last task"
    return note

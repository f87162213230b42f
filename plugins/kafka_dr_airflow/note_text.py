"""What the note on a run says: the words of a person are kept, and no secret is shown. Pure text, no Airflow."""

from __future__ import annotations

from kafka_dr.errors import Refused
from kafka_dr.evidence.known_secrets import KnownSecrets, refuse_secrets

#: The longest note that Airflow accepts, in characters.
MOST = 1000
#: The longest line of ours, without its link: a list of runs shows it whole, and its page has the rest.
LINE = 160
#: How a note of this project ends. What does not end like this was written by a person.
MARK = "(written by this DAG)"
#: As much of a note is shown however long its next step is.
_LEAST = 60
_PARAGRAPH = "\n\n"


def combined(present: str, note: str, *, link: str, then: str = "") -> str | None:
    """Return the note for a run: first what a person wrote, then ours in one line, which replaces an earlier one.

    :param present: the note that the run has; empty if it has none
    :param link: Markdown that the new note ends with, and that is never cut
    :param then: what a person does next, as a sentence; never cut
    :returns: at most 1,000 characters; ``None`` if what a person wrote leaves no room, because it is never cut
    """
    kept = _of_a_person(present)
    told = _shortened(note, max(LINE - len(then) - len(". "), _LEAST) if then else LINE)
    stop = "" if told.endswith(("…", ".", "?")) else "."
    ours = f"{told}{stop} {then} {link} {MARK}" if then else f"{told} {link} {MARK}"
    found = f"{kept}{_PARAGRAPH}{ours}" if kept else ours
    return found if len(found) <= MOST else None


def _shortened(note: str, most: int) -> str:
    """Return the beginning of a note in one line; a word is cut only if it is longer than the line."""
    told = " ".join(note.split())
    if len(told) <= most:
        return told
    room = told[: most - 1]
    return f"{room.rpartition(' ')[0] or room}…"


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

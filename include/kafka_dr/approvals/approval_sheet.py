"""What an approver is shown, in the order in which a person decides: the answer, the checks, what people wrote.

Names, details and sentences come from clusters and people: each is escaped where it is put in, and what people wrote
comes last, in a block of its own that it cannot leave.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from kafka_dr.counted import counted
from kafka_dr.group_offsets import group_costs
from kafka_dr.quoting import code, fenced, line, markdown
from kafka_dr.verb_words import verb_words, with_article

#: Outcomes by how much a person has to know of them; a word that is not known comes first.
_WORST_FIRST = ("failed", "unknown", "overridden", "excused", "warning", "ok")
#: More consumer groups than this do not fit in a sentence.
_FEW_GROUPS = 1
_MOST_DETAILS = 100
#: As much of a digest as a telephone shows in a line. The form holds all of it.
_DIGEST_SHOWN = 16
#: More checks than this do not fit in Airflow's dialog.
_MOST_IN_DIALOG = 3
_TWO_PEOPLE = "Two different people have to approve this."
_QUESTION = "Question "
_NAMED = re.compile(rf"^{_QUESTION}`([0-9a-f]+)`$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A question and its grounds.

    :param subject: plain text, which says the verb
    :param moves: Markdown, as all sentences here: what goes from where to where
    :param lost: which records would be missing
    :param writes_stop: for how long applications could not write
    :param read_again: what consumers would get a second time
    :param on_failure: what happens to a run that fails
    :param warnings: what must not be overlooked
    :param checks: rows with ``name``, ``outcome`` and ``detail``
    :param seen_at: when the checks were made, ISO 8601
    :param details: further paragraphs
    :param changes: a paragraph of Markdown without which nobody can answer, so Airflow's dialog shows it, too
    :param words: what people wrote, as it is, each under a title that this program sets
    :param consequence: what approving does, as it continues "Approve …"
    :param destroys: what is deleted, as a sentence; empty if nothing is
    :param excluded: approvers who may not answer, each with the reason as it continues their name
    """

    subject: str
    moves: str
    lost: str
    writes_stop: str
    read_again: str
    on_failure: str
    warnings: tuple[str, ...] = ()
    checks: Sequence[Mapping[str, Any]] = ()
    seen_at: str = ""
    details: tuple[str, ...] = ()
    changes: str = ""
    words: tuple[tuple[str, str], ...] = ()
    consequence: str = "lets the run do exactly this"
    destroys: str = ""
    excluded: tuple[tuple[str, str], ...] = ()

    @property
    def checks_not_ok(self) -> list[Mapping[str, Any]]:
        """The checks that a person has to look at, worst first."""
        return sorted((row for row in self.checks if row["outcome"] != "ok"), key=lambda row: _rank(row["outcome"]))

    def first_of_two(self) -> Sheet:
        """Return what the first of two people is asked."""
        return replace(self, consequence="asks a second person", details=(*self.details, _TWO_PEOPLE))

    def second_of_two(self, first: str, at: datetime, remark: str) -> Sheet:
        """Return what the second of two people is asked.

        :param first: the name of the person who has approved it
        :param at: when, UTC
        :param remark: of that person
        """
        return replace(
            self,
            subject=f"{self.subject} (second approval)",
            warnings=(*self.warnings, f"{code(first)} approved it."),
            details=(*self.details, f"{_TWO_PEOPLE} {code(first)} did so at {at:%H:%M:%S} UTC."),
            excluded=(*self.excluded, (first, "gave the first approval")),
            words=(*self.words, ("Remark of the first approver", remark)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the sheet as the evidence keeps it, for the page that shows it."""
        shown = [{name: row[name] for name in ("name", "outcome", "detail")} for row in self.checks_not_ok]
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**said, "checks": shown, "checks_ok": len(self.checks) - len(shown)}

    def dialog(self, *, expires_at: datetime, approvers: Sequence[str], page: str, name: str) -> str:
        """Return the answers and what is not ok, as Airflow's dialog shows it, then what people wrote.

        :param page: where all of it is shown
        :param name: of the question; :func:`named_in` finds it
        """
        bad = self.checks_not_ok
        more = f"\n* and {len(bad) - _MOST_IN_DIALOG} more" if len(bad) > _MOST_IN_DIALOG else ""
        shown = f"{listed('Not ok', bad[:_MOST_IN_DIALOG])}{more}" if bad else ""
        who = " or ".join(map(code, approvers))
        parts = (
            self._answers(expires_at),
            *self._warned,
            shown,
            self.changes,
            f"[Read all of it, and answer]({page})",
            f"*Approve* {self.consequence}. *Reject* ends the run, and nothing is changed. Only {who} may answer, "
            "once; others get *Access Denied*.",
            f"{_QUESTION}{code(name)}",
            self.written(),
        )
        return "\n\n".join(filter(None, parts))

    @property
    def _warned(self) -> Iterator[str]:
        yield from (f"⚠ {each}" for each in (f"**{self.destroys}**" if self.destroys else "", *self.warnings) if each)

    def _answers(self, expires_at: datetime) -> str:
        answers = {
            "What moves": self.moves,
            "What is lost": self.lost,
            "How long writes stop": self.writes_stop,
            "What is read again": self.read_again,
            "Until when": f"the approval counts until {expires_at:%Y-%m-%d %H:%M:%S} UTC",
            "If it fails": self.on_failure,
        }
        return "\n".join(f"* **{name}**: {_with_full_stop(said)}" for name, said in answers.items())

    def body(self, *, expires_at: datetime, digest: str, page: str = "") -> str:
        """Return everything but what people wrote, as Markdown that a telephone can show: no tables.

        :param digest: of the facts that are decided on
        :param page: where the evidence is shown
        """
        tied = f"Digest of the facts: {code(digest[:_DIGEST_SHOWN])}"
        return "\n\n".join(
            (
                self._answers(expires_at),
                *self._warned,
                *_checks(self.checks, self.seen_at),
                *filter(None, (self.changes,)),
                *self.details,
                f"[All of the evidence]({page}). {tied}" if page else tied,
            )
        )

    def written(self) -> str:
        """Return what people wrote, as Markdown, fenced; to be shown after everything else."""
        return "\n\n".join(f"**{title}**\n\n{fenced(text)}" for title, text in self.words if text)


def named_in(dialog: str) -> str:
    """Return the name of the question that a dialog shows; empty if it shows none. What people wrote comes after it."""
    found = _NAMED.search(dialog)
    return found[1] if found else ""


def listed(title: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows with ``name``, ``outcome`` and ``detail`` as a list, worst first."""
    found = sorted(rows, key=lambda row: _rank(row["outcome"]))
    shown = "\n".join(_row(row) for row in found[:_MOST_DETAILS])
    return f"**{title}**\n\n{shown}"


def begins(decision: Mapping[str, Any]) -> tuple[str, ...]:
    """Say where consumer groups begin if the requester chose a time.

    :param decision: the facts that are decided on
    """
    if "begin_at" not in decision:
        return ()
    at = datetime.fromisoformat(decision["begin_at"]).astimezone(UTC)
    which = {"all": "Every consumer group begins", "unknown": "Positions that cannot be translated begin"}
    when = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return (f"{which[decision['begin_positions']]} at the first record of {when}, as the requester chose",)


def read_again(rows: group_costs.Rows) -> tuple[str, tuple[str, ...]]:
    """Say in one sentence what consumer groups would read again, and what is left to be said of each.

    :param rows: what :func:`group_costs.costs` returned
    """
    each = markdown(group_costs.in_words(rows))
    if len(rows) <= _FEW_GROUPS:
        return each, ()
    kinds = Counter(str(row["class"]) for row in rows)
    again = [row.get("redelivered_at_most") for row in rows]
    known, open_ones = sum(number for number in again if number is not None), again.count(None)
    unknown = f"; of {counted(open_ones, 'group')} it is not known" if open_ones else ""
    classes = ", ".join(f"{number} {markdown(kind)}" for kind, number in sorted(kinds.items()))
    many = f"at most {counted(known, 'record')}" if known or open_ones else "nothing"
    return f"{many}, by {counted(len(again), 'group')} ({classes}){unknown}", (f"**Groups**: {each}",)


def clock(stamp: object) -> str:
    """Return the time of a stamp in UTC, to the second."""
    try:
        return f"{datetime.fromisoformat(str(stamp)):%H:%M:%S} UTC"
    except ValueError:
        return "an unknown time"


def subject(verb: str, question: str, *, dry_run: bool = False) -> str:
    """Return the question in one line of plain text, with the verb in front."""
    said = f"{verb_words(verb).capitalize()}: {question}"
    return line(f"Dry run of {with_article(said[0].lower() + said[1:])}" if dry_run else said)


def _checks(rows: Sequence[Mapping[str, Any]], seen_at: str) -> Iterable[str]:
    if not rows:
        return
    good = [row for row in rows if row["outcome"] == "ok"]
    bad = [row for row in rows if row["outcome"] != "ok"]
    at = f" (as of {clock(seen_at)})" if seen_at else ""
    if bad:
        yield listed(f"Checks that are not ok{at}", bad)
    names = ", ".join(code(row["name"]) for row in good)
    every = "All " if not bad else ""
    yield f"**{every}{len(good)} checks ok**{'' if bad else at}: {names}" if good else "**No check is ok.**"


def _row(row: Mapping[str, Any]) -> str:
    return f"* **{markdown(row['outcome'])}** {code(row['name'])}: {_with_full_stop(markdown(row['detail']))}"


def _rank(outcome: object) -> int:
    return _WORST_FIRST.index(str(outcome)) if outcome in _WORST_FIRST else -1


def _with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."

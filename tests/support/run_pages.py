"""What the pages say of a group and its run at one moment, read in a real browser: each answers the same questions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from support.browser import Page

#: A step with the time of its beginning, and its attempt.
_STEP = re.compile(r"([A-Z][a-z ]+), since (\d\d:\d\d:\d\d) UTC \([^)]*\)(?:, attempt (\d+))?")
_WAITS = re.compile(r"WAITS FOR YOU.*may answer until (\d\d:\d\d) UTC")
#: What is counted from the moment of the page.
_AGES = re.compile(r"\d+(?:\.\d+)? (?:s|min|h)\b(?: \d+ s)?")
_OF_THE_CARD = "document.querySelector('#group-{group} {part}').innerText"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one page; ``None`` where it is not asked.

    :param runs: the step that runs, since when, and which attempt it is
    :param waits: until when a person may answer; empty if nobody is asked
    :param record: what the register says, without ages
    :param verdict: what is the matter with the group
    """

    runs: tuple[str, ...]
    waits: str
    record: str | None = None
    verdict: str | None = None

    def contradicts(self, other: Answers) -> bool:
        """Return whether two pages answer the same question differently."""
        pairs = ((self.record, other.record), (self.verdict, other.verdict))
        return (self.runs, self.waits) != (other.runs, other.waits) or any(
            None not in pair and pair[0] != pair[1] for pair in pairs
        )


@dataclass(frozen=True, slots=True)
class RunPages:
    """The pages that an on-call engineer looks at while a run is open.

    :param base: the address of Airflow
    """

    page: Page
    base: str
    group: str
    run: str

    def status(self) -> Answers:
        """Read the card of the status page, and the run above it."""
        self.open("/kafka-dr/status?reload=false")
        record, verdict = (self._part(part) for part in (".state", ".headline .said"))
        return self._answers(record.partition(" Evidence of ")[0], verdict)

    def of_group(self) -> Answers:
        """Read the page of the group."""
        self.open(f"/kafka-dr/groups/{self.group}")
        record = str(self.page.ask("document.querySelector('header .headline').nextElementSibling.innerText"))
        return self._answers(record, str(self.page.ask("document.querySelector('header .said').innerText")))

    def of_run(self) -> Answers:
        """Read the page of the run."""
        self.open(f"/kafka-dr/evidence/{self.group}/{self.run}")
        return self._answers(None, None)

    def active_is_known(self, cluster: str) -> bool:
        """Return whether the card draws a cluster as active without a question mark; the status page is open."""
        drawn = str(self.page.ask(_OF_THE_CARD.format(group=self.group, part=".flow")))
        return f"{cluster} active\n" in f"{drawn}\n" and "UNKNOWN" not in drawn.partition("lag")[0]

    def first_red(self) -> str:
        """Return the first red words of the page that is open."""
        return str(self.page.ask("(document.querySelector('.badge.bad') || {innerText: ''}).innerText"))

    def open(self, path: str) -> str:
        """Open one of our pages with all that is folded, and return what a person reads."""
        # The same address again: what is read must not be the page before.
        self.page.ask("window.before = true")
        self.page.go(f"{self.base}{path}")
        ended = "!window.before && document.readyState === 'complete' && document.querySelector('main, h1')"
        self.page.wait(f"location.href.endsWith({path!r}) && {ended}")
        self.page.unfold()
        return self.page.text()

    def _answers(self, record: str | None, verdict: str | None) -> Answers:
        text = self.page.text()
        step, asked = _STEP.search(text), _WAITS.search(text)
        runs = tuple(each or "" for each in step.groups()) if step else ()
        ageless = (each if each is None else _AGES.sub("#", each) for each in (record, verdict))
        return Answers(runs, asked[1] if asked else "", *ageless)

    def _part(self, part: str) -> str:
        return str(self.page.ask(_OF_THE_CARD.format(group=self.group, part=part)))

"""The newest result of a watch for a group, and the periods in which it found the same again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

from kafka_dr.codec import StoredDocument, WholeSeconds, stored
from kafka_dr.watch_results.of_standbys import (
    FLOW,
    STANDBYS,
    WORST_FIRST,
    StandbyFinding,
    WatchOutcome,
    finding_of_flow,
    findings_in,
    worst_of,
)
from kafka_dr.watch_results.watches import ALL_WATCHES, AUDITS, OF_THE_GROUP, WatchName, believed_for

#: Older periods are dropped, and those beyond this number: a result that changes with every look must not grow.
_REMEMBERED = timedelta(days=14)
_MOST_PERIODS = 100
#: Facts that count what a look did; the result also keeps their sum over all looks.
_COUNTED = ("denies_added",)
#: The topics that patterns match, a row each.
_MATCHED = "matched_topics"
#: Since when each cluster is so, by the fact that lists those that are.
_SINCE = {"silent": "silent_since", "unheard": "unheard_since", "answering": "answering_since"}
#: A cluster that a slow worker did not hear, and that was silent in the next look, did not answer in either.
_NO_ANSWER = ("silent", "unheard")
#: When the first record of this epoch was written, as far as a look has seen it: each move begins with a new epoch.
#: Facts that stay as they were where a look could not find them out: what they were compared with must not be lost.
_FLOW_SINCE = "flow_since"
_LASTING = ("silent", *_SINCE.values(), "fence_missing", "half_moved", "half_moved_run", _MATCHED, _FLOW_SINCE)
#: What health reads of a register. A look that could not read it keeps what was read last, apart from what is true now.
_RECORD = ("phase", "active", "epoch", "run", "verb", "held")
#: Of a record that names several standbys: the role of each.
ROLES = "roles"
_RECORD_IN_FULL = (*_RECORD, "standby", "recorded_at", "approved_by", ROLES)
_LAST_RECORD = "last_record"
#: After this moment the look read the record, ISO 8601.
READ_AT = "read_at"
#: What a page can show of one look. The log of its task has everything.
_MOST_SENTENCES = 40
_MOST_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Period:
    """A time in which each look had the same outcome.

    :param since: of the first look, UTC
    :param until: of the last look, UTC
    :param sentence: the first thing that the last look said
    """

    outcome: WatchOutcome
    since: WholeSeconds
    until: WholeSeconds
    sentence: str


@dataclass(frozen=True, slots=True)
class FlowNow:
    """What a group replicates now, as its register was read last. What looked before that says nothing of it.

    :param active: the cluster that it is copied from; empty if that is not known
    :param begun: when the run took the group that made this flow, UTC; ``None`` if that is not known
    :param recorded: when the newest record was written, UTC; ``None`` if that is not known
    """

    active: str = ""
    begun: datetime | None = None
    recorded: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeptResult(StoredDocument):
    """What a watch found of a group when it last looked.

    :param run: the run of the watch's DAG
    :param sentences: what was seen, and what to do
    :param looked_at: when the look ended, UTC
    :param since: when a look first had this outcome, without another one since, UTC
    :param facts: figures by their name, as plain JSON values
    :param history: earlier periods, the newest first
    :param every: the time until the next look; ``None``: as the watch looks at a group with the pace ``normal``
    :param totals: sums over all looks since the file was begun, by the name of the fact
    """

    group: str
    watch: WatchName
    outcome: WatchOutcome
    sentences: tuple[str, ...]
    looked_at: WholeSeconds
    run: str = ""
    since: WholeSeconds | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Period, ...] = ()
    every: timedelta | None = field(default=None, metadata=stored("every_seconds"))
    totals: Mapping[str, int] = field(default_factory=dict)

    @property
    def good_for(self) -> timedelta:
        """For how long this result is believed."""
        return believed_for(self.every or ALL_WATCHES[self.watch].every)

    @property
    def begun(self) -> datetime:
        """When this outcome began, as far as it is known."""
        return self.since or self.looked_at

    def after(self, earlier: KeptResult | None) -> KeptResult:
        """Return this result with what the result before it says about the past.

        A period ends with another outcome, and also if nobody looked for longer than a result counts. An audit of one
        of several standbys says the worst of the newest audits of all.
        """
        return self._with_other_standbys(earlier)._after(earlier)

    def _after(self, earlier: KeptResult | None) -> KeptResult:
        before = earlier.facts if earlier is not None else {}
        lasting = {name: before[name] for name in _LASTING if name in before}
        silent, heard = lasting.get("silent"), self.facts.get("answering")
        if isinstance(silent, list) and isinstance(heard, list):
            lasting["silent"] = [name for name in silent if name not in heard]
        if not self.has_record and earlier is not None and (known := earlier.last_record):
            lasting[_LAST_RECORD] = known
        facts = {**lasting, **self.facts, **self._first_seen(before), **self._since_when(before)}
        facts |= self._flow_since(earlier)
        return replace(self, totals=self._totals(earlier), facts=facts)._dated(earlier)

    @property
    def of_standbys(self) -> tuple[StandbyFinding, ...]:
        """What was found of each standby: of several all that were looked at, of a pair the only one."""
        if STANDBYS in self.facts:
            return findings_in(self.facts, self.looked_at)
        found = finding_of_flow(self.outcome, self.sentences, self.looked_at, self.facts)
        return () if found is None or self.outcome == "left_alone" else (found,)

    def _with_other_standbys(self, earlier: KeptResult | None) -> KeptResult:
        """Return this audit with the newest ones of the flows from the same cluster to other standbys."""
        if earlier is None or self.watch not in AUDITS or STANDBYS in self.facts or self.outcome == "left_alone":
            return self
        mine, before = self.of_standbys, earlier.of_standbys
        if mine:
            (one,) = mine
            before = tuple(each for each in before if each.source == one.source and each.standby != one.standby)
            if not before:
                return self
        elif STANDBYS not in earlier.facts:
            return self
        ranked = worst_of((*mine, *before))
        outcome = min((self.outcome, ranked[0].outcome), key=WORST_FIRST.index)
        said = dict.fromkeys(f"{found.source} → {found.standby}: {each}" for found in ranked for each in found.said)
        rows = sorted((each.as_row for each in ranked), key=lambda row: str(row["standby"]))
        return replace(
            self,
            outcome=outcome,
            sentences=tuple(said) if mine else tuple(dict.fromkeys((*self.sentences, *said))),
            facts={**(ranked[0].facts if mine else self.facts), STANDBYS: rows},
        )

    def _first_seen(self, before: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Return each topic that a pattern matches with the time of the first look that saw it."""
        known = {row.get("topic"): row.get("since") for row in before.get(_MATCHED, ()) if isinstance(row, Mapping)}
        now = _stamp(self.looked_at)
        rows = [{**row, "since": known.get(row["topic"]) or now} for row in self.facts.get(_MATCHED, ())]
        return {_MATCHED: rows} if rows else {}

    def _since_when(self, before: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """Return each cluster that is silent, or answers, with the time of the first look that found it so."""
        found, now = {}, _stamp(self.looked_at)
        for listed, since in _SINCE.items():
            if isinstance(self.facts.get(listed), list):
                known: dict[str, str] = {}
                for each in _NO_ANSWER if listed in _NO_ANSWER else (listed,):
                    known = {**(earlier if isinstance(earlier := before.get(_SINCE[each]), Mapping) else {}), **known}
                found[since] = {name: known.get(name) or now for name in self.facts[listed]}
        return found

    def _flow_since(self, earlier: KeptResult | None) -> dict[str, str]:
        """Return when the first record of the epoch was written."""
        if not self.has_record or "recorded_at" not in self.facts:
            return {}
        known = earlier.last_record.get("epoch") if earlier is not None else None
        same = earlier is not None and known == self.facts["epoch"] and earlier.facts.get(_FLOW_SINCE)
        return {_FLOW_SINCE: same or self.facts["recorded_at"]}

    @property
    def flow_now(self) -> FlowNow:
        """What the group replicates, by this result of health; empty if it has read no record."""
        return self.flow_by({**self.facts, **self.last_record})

    def flow_by(self, record: Mapping[str, Any]) -> FlowNow:
        """Return what the group replicates by a record that this result of health has read, or a later one."""
        recorded, active = _time(record.get("recorded_at")), record.get("active")
        same = record.get("epoch") == {**self.facts, **self.last_record}.get("epoch")
        begun = _time(self.facts.get(_FLOW_SINCE)) if same else None
        return FlowNow(active if isinstance(active, str) else "", begun or recorded, recorded)

    @property
    def read_at(self) -> datetime:
        """After which moment this look read what it found, UTC: what a run has done since, it may not have seen."""
        try:
            return datetime.fromisoformat(self.facts[READ_AT])
        except (KeyError, TypeError, ValueError):
            return self.looked_at

    @property
    def last_record(self) -> Mapping[str, Any]:
        """What was read last of the group's record in a register, by this look or an earlier one; empty if nothing.

        ``seen_at`` says after which moment it was read.
        """
        if self.has_record:
            record = {name: self.facts[name] for name in _RECORD_IN_FULL if name in self.facts}
            return {**record, "seen_at": self.read_at.isoformat()}
        kept = self.facts.get(_LAST_RECORD)
        return kept if is_record(kept) else {}

    @property
    def has_record(self) -> bool:
        """Whether this look itself read the group's record."""
        return is_record(self.facts)

    def _totals(self, earlier: KeptResult | None) -> dict[str, int]:
        before = earlier.totals if earlier is not None else {}
        added = {name: self.facts.get(name, 0) for name in _COUNTED if name in self.facts or name in before}
        return {name: before.get(name, 0) + int(more) for name, more in added.items()}

    def _dated(self, earlier: KeptResult | None) -> KeptResult:
        if earlier is None:
            return replace(self, since=self.begun).shortened()
        gap = self.looked_at - earlier.looked_at
        if earlier.outcome == self.outcome and gap <= earlier.good_for:
            return replace(self, since=earlier.begun, history=earlier.history).shortened()
        ended = Period(earlier.outcome, earlier.begun, earlier.looked_at, next(iter(earlier.sentences), ""))
        return replace(self, since=self.looked_at, history=(ended, *earlier.history)).shortened()

    def shortened(self) -> KeptResult:
        """Return this result with as much as is kept of it."""
        oldest = self.looked_at - _REMEMBERED
        history = tuple(period for period in self.history[:_MOST_PERIODS] if period.until >= oldest)
        sentences = tuple(map(_cut, self.sentences[:_MOST_SENTENCES]))
        if left := len(self.sentences) - len(sentences):
            sentences = (*sentences, f"{left} more sentences are in the log of the task")
        return replace(self, sentences=sentences, history=history)

    def is_old(self, now: datetime) -> bool:
        """Return whether the result is too old to be believed, or from a time that has not come yet."""
        return not -self.good_for <= now - self.looked_at <= self.good_for

    def outlasts(self, later: KeptResult) -> bool:
        """Return whether this result of an audit stays when a later look compared nothing, such as during a run."""
        proven = FLOW in self.facts and self.outcome != "left_alone"
        return later.outcome == "left_alone" and proven and not self.is_old(later.looked_at)

    def is_of(self, flow: FlowNow) -> bool:
        """Return whether this result is about what a group replicates now, and not about what it did before a move.

        One that names its flow may be from within the run that made the flow, such as the audit of a failback.
        """
        if self.watch in OF_THE_GROUP:
            return True
        if self.is_of_another(flow):
            return False
        since = flow.begun if FLOW in self.facts else flow.recorded
        return since is None or self.looked_at >= since

    def is_of_another(self, flow: FlowNow) -> bool:
        """Return whether this result names a flow from another cluster."""
        named = self.facts.get(FLOW)
        return bool(flow.active) and isinstance(named, str) and not named.startswith(f"{flow.active}-to-")


def is_record(stored: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether this is what health keeps of a group's record."""
    return isinstance(stored, Mapping) and set(_RECORD) <= stored.keys()


def _time(stored: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(stored) if isinstance(stored, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= _MOST_CHARACTERS else f"{sentence[: _MOST_CHARACTERS - 1]}…"


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")

"""What a watch found of each standby of a group that has several: a row among its facts for each.

Most watches look at all standbys. An audit looks at one in each run, so its result keeps the newest row of each other
one, and says the worst of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from kafka_dr.json_documents import is_number

#: ``warning``: what was asked for is so, and something else needs a look. ``left_alone``: this watch had no business
#: with the group at that time. Neither that nor ``unknown`` is good.
WatchOutcome = Literal["ok", "warning", "left_alone", "failed", "unknown"]
#: Outcomes that call nobody.
CALM: frozenset[WatchOutcome] = frozenset({"ok", "warning"})
#: From the worst to the best. What is not checked is not known.
WORST_FIRST: tuple[WatchOutcome, ...] = ("failed", "unknown", "left_alone", "warning", "ok")
#: Of what looks at a flow: the one that it has looked at, ``SOURCE-to-TARGET``.
FLOW = "flow"
#: Of a group with several standbys: what was found of each, a row with its name.
STANDBYS = "standbys"
_OF_A_ROW = ("standby", "outcome", "said", "looked_at")
#: So many sentences of each standby are kept.
_MOST_SAID = 5
#: Of two results that say the same, that is worse which says more of one of these.
_RISKS = ("verified_rpo_seconds", "seconds")


@dataclass(frozen=True, slots=True)
class StandbyFinding:
    """What was found of one standby.

    :param at: when, UTC
    :param facts: as those of a whole result
    """

    standby: str
    outcome: WatchOutcome
    said: tuple[str, ...]
    at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The cluster that it was copied from; empty if that is not known."""
        flow = self.facts.get(FLOW)
        ending = f"-to-{self.standby}"
        return flow.removesuffix(ending) if isinstance(flow, str) and flow.endswith(ending) else ""

    @property
    def as_row(self) -> dict[str, Any]:
        """What is kept of it among the facts of a result."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds")
        return standby_row(self.standby, self.outcome, list(self.said), {"looked_at": at, **self.facts})


def standby_row(
    standby: str, outcome: WatchOutcome, said: Sequence[str], facts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what is kept of a standby, as :func:`findings_in` reads it."""
    return {"standby": standby, "outcome": outcome, "said": said[:_MOST_SAID], **(facts or {})}


def findings_in(facts: Mapping[str, Any], looked_at: datetime) -> tuple[StandbyFinding, ...]:
    """Return what the facts of a result say of each standby. A row that is damaged is left out.

    :param looked_at: when the look ended, for rows that do not say when
    """
    rows = facts.get(STANDBYS)
    found = (_finding(row, looked_at) for row in rows) if isinstance(rows, (list, tuple)) else ()
    return tuple(each for each in found if each is not None)


def finding_of_flow(
    outcome: WatchOutcome, said: tuple[str, ...], at: datetime, facts: Mapping[str, Any]
) -> StandbyFinding | None:
    """Return a result that names its flow as what was found of the standby that the flow leads to."""
    source, separator, standby = str(facts.get(FLOW) or "").partition("-to-")
    return StandbyFinding(standby, outcome, said, at, facts) if source and separator and standby else None


def worst_of(found: Iterable[StandbyFinding]) -> list[StandbyFinding]:
    """Return the findings, the worst first."""
    return sorted(found, key=lambda each: (WORST_FIRST.index(each.outcome), -_risk(each.facts)))


def _risk(facts: Mapping[str, Any]) -> float:
    return next((float(facts[name]) for name in _RISKS if is_number(facts.get(name))), 0.0)


def _finding(row: object, looked_at: datetime) -> StandbyFinding | None:
    if not isinstance(row, Mapping) or row.get("outcome") not in get_args(WatchOutcome):
        return None
    said, facts = row.get("said"), {name: value for name, value in row.items() if name not in _OF_A_ROW}
    try:
        at = datetime.fromisoformat(row["looked_at"]).astimezone(UTC) if "looked_at" in row else looked_at
    except (TypeError, ValueError):
        return None
    sentences = tuple(map(str, said)) if isinstance(said, (list, tuple)) else ()
    return StandbyFinding(str(row.get("standby")), row["outcome"], sentences, at, facts)

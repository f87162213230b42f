"""The two datacenters of a group and the flow between them, as one line to draw: direction, lag and canary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.situations.group_record import GroupRecord
from kafka_dr.watch_results import CALM, WatchedGroup, WatchOutcome, WatchStatus

#: The colour of what a watch says of a flow, the worst first.
COLOURS: dict[WatchOutcome, StatusColour] = {
    "failed": "bad",
    "unknown": "unknown",
    "left_alone": "unknown",
    "warning": "warn",
    "ok": "good",
}


@dataclass(frozen=True, slots=True)
class FlowPicture:
    """A group's datacenters and its flow.

    :param known: whether it is known now which cluster is active
    :param other: what the other cluster is
    :param lag: how far the copy is, in words; *UNKNOWN* if that is not known now
    :param canary: how canaries arrive, in the same way
    :param colour: the worst of flow, lag and canary
    """

    active: str
    standby: str
    known: bool
    other: str
    lag: str
    canary: str
    colour: StatusColour

    @property
    def lag_alone(self) -> str:
        """The lag without how many records that is."""
        return self.lag.partition(" (")[0]


def flow_picture(status: WatchedGroup, record: GroupRecord) -> FlowPicture:
    """Return the picture of a group. What is too old or was never measured is unknown, in words.

    :param record: what the register says of it
    """
    watched = [status.of("flows"), status.of("lag"), status.of("canary")]
    worst = next(each for each in COLOURS if each in {one.outcome for one in watched})
    lag, canary = lag_in_words(_facts(status.of("lag"))), canary_in_words(_facts(status.of("canary")))
    return FlowPicture(
        record.active or "?",
        record.standby or "?",
        record.known,
        record.other,
        lag,
        canary,
        COLOURS[worst] if record.known else "unknown",
    )


def lag_in_words(facts: Mapping[str, object]) -> str:
    """Return how far a copy is by what a lag audit measured; *UNKNOWN* if it did not."""
    seconds, records = facts.get("seconds"), facts.get("records")
    if not _is_number(seconds):
        return "lag UNKNOWN"
    counted = f" ({records:,} records)" if _is_number(records) else ""
    return f"lag {seconds:,.1f} s{counted}"


def canary_in_words(facts: Mapping[str, object]) -> str:
    """Return how canaries arrive; *UNKNOWN* if that was not seen."""
    verdict, seconds = facts.get("verdict"), facts.get("seconds")
    if not isinstance(verdict, str) or not verdict:
        return "canary UNKNOWN"
    took = f", {seconds:,.1f} s" if _is_number(seconds) else ""
    return f"canary {verdict.replace('_', ' ')}{took}"


def _facts(status: WatchStatus) -> dict[str, object]:
    found = status.result
    return dict(found.facts) if found and not status.reason and status.outcome in (*CALM, "failed") else {}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""The verified RPO of a group in one line of its card: how much a disaster would have lost, by what was compared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_dr.evidence.ages import age_of
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.watch_results import WatchStatus

_COLOURS: dict[str, StatusColour] = {"ok": "good", "failed": "bad"}


@dataclass(frozen=True, slots=True)
class RpoLine:
    """The verified RPO of a group.

    :param word: how much it is, for people, never a colour alone; *UNKNOWN* if that is not known now
    """

    word: str
    colour: StatusColour
    said: str


def rpo_line(checksum: WatchStatus, now: datetime) -> RpoLine:
    """Return the line from what the last checksum audit kept. What it did not measure, or long ago, is unknown.

    :param now: the time from which ages are counted, UTC
    """
    if checksum.result is None:
        return RpoLine("UNKNOWN", "unknown", f"nothing was compared: {checksum.reason}")
    facts = checksum.result.facts
    seconds, offsets = facts.get("verified_rpo_seconds"), facts.get("unverified_offsets")
    if not _is_number(seconds):
        return RpoLine("UNKNOWN", "unknown", "the last checksum audit has not measured it")
    try:
        at = datetime.fromisoformat(str(facts.get("at"))).astimezone(UTC)
    except ValueError:
        return RpoLine("UNKNOWN", "unknown", "the last checksum audit does not say when it compared")
    more = f"; {offsets:,} offsets were not compared yet" if _is_number(offsets) and offsets else ""
    said = f"as compared record by record {age_of(now - at)}{more}"
    if checksum.reason or checksum.outcome not in _COLOURS:
        return RpoLine("UNKNOWN", "unknown", f"it was {seconds:,.1f} s, {said}")
    return RpoLine(f"{seconds:,.1f} s", _COLOURS[checksum.outcome], said)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""The verified RPO of a group in one line of its card: how much a disaster would have lost, by what was compared."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka_dr.counted import counted
from kafka_dr.durations import age_of
from kafka_dr.evidence.status_colour import CardLine, StatusColour
from kafka_dr.json_documents import is_number
from kafka_dr.watch_results import WatchStatus

_COLOURS: dict[str, StatusColour] = {"ok": "good", "warning": "good", "failed": "bad"}


def rpo_line(checksum: WatchStatus, now: datetime) -> CardLine:
    """Return the line from what the last checksum audit kept. What it did not measure, or long ago, is unknown.

    :param now: the time from which ages are counted, UTC
    """
    if checksum.result is None:
        return CardLine("UNKNOWN", "unknown", f"nothing was compared: {checksum.reason}")
    facts = checksum.result.facts
    seconds, offsets = facts.get("verified_rpo_seconds"), facts.get("unverified_offsets")
    if not is_number(seconds):
        return CardLine("UNKNOWN", "unknown", "the last checksum audit has not measured it")
    try:
        at = datetime.fromisoformat(str(facts.get("at"))).astimezone(UTC)
    except ValueError:
        return CardLine("UNKNOWN", "unknown", "the last checksum audit does not say when it compared")
    more = ""
    if is_number(offsets) and offsets:
        more = f"; {counted(int(offsets), 'offset was', 'offsets were')} not compared yet"
    said = f"as compared record by record {age_of(now - at)}{more}"
    if checksum.reason or checksum.outcome not in _COLOURS:
        return CardLine("UNKNOWN", "unknown", f"it was {seconds:,.1f} s, {said}")
    return CardLine(f"{seconds:,.1f} s", _COLOURS[checksum.outcome], said)

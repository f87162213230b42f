"""What is known of the records that a disaster took, as people need it: until when what is known, and what is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kafka_dr.counted import counted
from kafka_dr.durations import about, duration
from kafka_dr.json_documents import is_number


def loss_line(loss: Mapping[str, Any], *, at: str = "") -> str:
    """Say what is known of the loss. That nothing was lost until a moment says nothing of what came after it.

    :param loss: as the run has it: ``at_least_records``, ``as_of`` and ``reason``;
        ``usual_per_second`` and ``copy_lag_seconds`` are ``None`` or missing where they are not known
    :param at: when that was said, ISO 8601; empty if it does not matter
    """
    least, as_of = loss.get("at_least_records"), loss.get("as_of")
    if least is None:
        return f"not known: {loss.get('reason')}"
    lost = counted(least, "record") if least else "nothing"
    if not as_of:
        return f"{lost} ({loss.get('reason')})"
    since = datetime.fromisoformat(as_of)
    ago = f" ({about(datetime.fromisoformat(at) - since)})" if at else ""
    said = f"{lost} until {since.astimezone(UTC):%H:%M:%S} UTC; since then{ago} not known"
    said = f"{said}, and {loss['not_counted']}" if "not_counted" in loss else said
    return "; ".join(filter(None, (said, ", ".join(_usual(loss)))))


def _usual(loss: Mapping[str, Any]) -> Iterator[str]:
    rate, lag = loss.get("usual_per_second"), loss.get("copy_lag_seconds")
    if is_number(rate):
        yield f"usual rate about {rate:,.0f}/s" if rate >= 10 else f"usual rate about {rate:.1g}/s"
    if is_number(lag):
        yield f"the copy lagged by {duration(lag)} then"

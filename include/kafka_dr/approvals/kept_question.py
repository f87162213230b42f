"""A question as the evidence keeps it. Shown only if it is the one that the register or Airflow names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kafka_dr.evidence.canonical import digest

#: What the digest of a question covers of what was asked, with its time and its approvers.
_COVERED = ("subject", "body", "digest", "sheet")


def kept_question(attempts: Iterable[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """Return the attempt of a step that asked a question; ``None`` if none of them shows what was asked.

    :param attempts: what the evidence has of the step; anybody who writes there may have changed it
    :param name: of the question, or its digest
    """
    return next((each for each in attempts if name and (_digest(each) or "").startswith(name)), None)


def asked_somebody(attempt: Mapping[str, Any]) -> bool:
    """Return whether an attempt of an approval asked a person."""
    return bool(attempt.get("facts", {}).get("asked"))


def _digest(attempt: Mapping[str, Any]) -> str | None:
    facts = attempt.get("facts", {})
    try:
        asked, people = facts["asked"], facts["approvers"]
        until = datetime.fromisoformat(asked["expires_at"]).isoformat()
    except (KeyError, TypeError, ValueError):
        return None
    covered = {name: asked[name] for name in _COVERED if name in asked}
    return digest({**covered, "expires_at": until, "approvers": people})

"""What the approvers of a failback are shown: what stays aside, or everything that would be deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kafka_dr.failover.failback.decision import OLD_SIDE
from kafka_dr.failover.run import Run
from kafka_dr.named_rows import by_name


def subject(run: Run, seen: dict[str, Any]) -> str:
    """Return the question in one line.

    :param seen: the evidence of preflight
    """
    decided = seen["facts"]["decision"]
    if decided["mode"] == "rebuild":
        return f"Delete {len(decided['deletes'])} topics of {run.group.name} on {run.target} and copy them again?"
    return f"Make {run.target} a copy of {run.source} for {run.group.name} again?"


def body(run: Run, seen: dict[str, Any], expires_at: datetime) -> str:
    """Return the question as Markdown.

    :param seen: the evidence of preflight
    """
    facts = seen["facts"]
    decided = facts["decision"]
    wish = "published again" if decided["rescue"] == "republish" else "kept aside"
    checks = "\n".join(f"| {c['name']} | {c['outcome']} | {c['detail']} |" for c in seen["checks"])
    return "\n\n".join(
        (
            f"**{run.group.name}** was taken from **{run.target}** in a disaster and is active on **{run.source}**. "
            f"{decided['stranded']['records']} records of {run.target} never crossed; they are {wish}.",
            f"Reason given: {run.request.reason or 'none'}",
            *(_rebuild(run, facts["measurements"]) if decided["mode"] == "rebuild" else _quarantine(run, decided)),
            f"| check | outcome | seen |\n| --- | --- | --- |\n{checks}",
            f"Valid until {expires_at:%Y-%m-%d %H:%M:%S} UTC. Digest of the facts: `{facts['digest']}`\n",
        )
    )


def _rebuild(run: Run, measured: dict[str, Any]) -> tuple[str, ...]:
    rows = "\n".join(
        f"| {name} | {row['records']} | {row['bytes']} | {row['stranded']} |"
        for name, row in sorted(by_name(measured["old_side"], **OLD_SIDE).items())
    )
    return (
        f"**Rebuild deletes data.** These topics are deleted on **{run.target}** and copied again from {run.source}. "
        "Two different approvers have to say yes.",
        f"| topic | records at most | bytes | of them stranded, and kept |\n| --- | --- | --- | --- |\n{rows}",
    )


def _quarantine(run: Run, decided: dict[str, Any]) -> tuple[str, ...]:
    ranges = "\n".join(f"* `{each}`" for each in decided["quarantine"]) or "* nothing"
    return (f"**Quarantine deletes nothing.** These offsets stay aside on {run.target}:", ranges)

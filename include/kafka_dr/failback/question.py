"""What the approvers of a failback are shown: what stays aside, or everything that would be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.approvals.approval_sheet import Sheet, subject
from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.named_rows import by_name
from kafka_dr.quoting import code, markdown
from kafka_dr.runs.run import Run

#: More offsets than this are in the evidence alone.
_MOST_RANGES = 100


def sheet(run: Run, seen: Mapping[str, Any]) -> Sheet:
    """Return the question and its grounds.

    :param seen: the evidence of preflight
    """
    facts = seen["facts"]
    decided, measured = facts["decision"], facts["measurements"]
    group, active, old = (markdown(name) for name in (run.group.name, run.source, run.target))
    rebuild = decided["mode"] == "rebuild"
    wish = "published again to the active cluster" if decided["rescue"] == "republish" else "kept aside"
    stranded = f"{decided['stranded']['records']:,} records of {old} never crossed; they are {wish}"
    return Sheet(
        subject=subject("failback", _question(run, decided), dry_run=run.request.dry_run),
        moves=f"no application: **{group}** stays active on **{active}**, and **{old}**, which was left in a disaster, "
        "becomes its copy again",
        lost=f"{stranded}. {_deleted(run, decided, measured) if rebuild else 'Nothing is deleted'}",
        writes_stop=f"not at all: applications go on writing to {active}",
        read_again=f"nothing: consumers go on reading on {active}"
        + (", where the records that are published again arrive as new ones" if wish.startswith("pub") else ""),
        on_failure="the run can be tried again, or be abandoned by a person; applications are not touched",
        warnings=(f"**Rebuild deletes data on {old}.** Two different approvers have to say yes.",) if rebuild else (),
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=(_old_side(measured),) if rebuild else (_aside(old, decided["quarantine"]),),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def _question(run: Run, decided: Mapping[str, Any]) -> str:
    if decided["mode"] == "rebuild":
        return f"delete {len(decided['deletes'])} topics of {run.group.name} on {run.target} and copy them again?"
    return f"make {run.target} a copy of {run.source} for {run.group.name} again?"


def _deleted(run: Run, decided: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    records = sum(int(row["records"]) for row in by_name(measured["old_side"], **OLD_TOPICS).values())
    return (
        f"{len(decided['deletes'])} topics with at most {records:,} records are deleted on {markdown(run.target)} and "
        f"copied again from {markdown(run.source)}"
    )


def _old_side(measured: Mapping[str, Any]) -> str:
    rows = "\n".join(
        f"* {code(name)}: at most {row['records']:,} records, {row['bytes']:,} bytes; {row['stranded']:,} of them "
        "stranded, and kept"
        for name, row in sorted(by_name(measured["old_side"], **OLD_TOPICS).items())
    )
    return f"**What is deleted and copied again**\n\n{rows}"


def _aside(old: str, ranges: list[str]) -> str:
    shown = "\n".join(f"* {code(each)}" for each in ranges[:_MOST_RANGES]) or "* nothing"
    more = (
        f"\n\nAnd {len(ranges) - _MOST_RANGES} more, all of them in the evidence." if len(ranges) > _MOST_RANGES else ""
    )
    return f"**These offsets stay aside on {old}**\n\n{shown}{more}"

"""What the approvers of a failback are shown: the quarantined offsets, or everything that would be deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    republish = decided["rescue"] == "republish"
    kept = "published again" if republish else "kept in files"
    stranded = f"{decided['stranded']['records']:,} records of {old} were never copied; they are {kept}"
    if erased := decided["stranded"].get("erased"):
        stranded += f", except {erased:,} whose content was erased"
    return Sheet(
        subject=subject("failback", _question(run, decided), dry_run=run.request.dry_run),
        moves=f"no application: **{group}** stays active on **{active}**. **{old}**, the old cluster of an unplanned "
        "failover, becomes its copy again",
        lost=stranded if rebuild else f"{stranded}. Nothing is deleted",
        writes_stop="not at all",
        read_again=f"nothing: consumers stay on {active}"
        + (". The records that are published again arrive there as new ones" if republish else ""),
        on_failure="clear the failed task, or abandon the run with dr_resume. Applications are not affected",
        warnings=("Two different people have to approve this.",) if rebuild else (),
        destroys=f"{_deleted(run, decided, measured)}." if rebuild else "",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=(_what_is_deleted(measured),) if rebuild else (_quarantined(old, decided["quarantine"]),),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def costs(run: Run, facts: Mapping[str, Any]) -> Iterable[str]:
    """Say what a real run would lose and cost."""
    decided, measured = facts["decision"], facts["measurements"]
    kept = "kept and published again" if decided["rescue"] == "republish" else "kept in files"
    yield (
        f"A real run would find {measured['stranded_records']:,} stranded records on {run.target}; they would be {kept}"
    )
    if decided["mode"] != "rebuild":
        yield "Nothing would be deleted"
        return
    held = sum(row["records"] for row in by_name(measured["old_side"], **OLD_TOPICS).values())
    yield (
        f"{len(decided['deletes'])} topics with at most {held:,} records would be deleted on {run.target} and copied "
        f"again from {run.source}"
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


def _what_is_deleted(measured: Mapping[str, Any]) -> str:
    rows = "\n".join(
        f"* {code(name)}: at most {row['records']:,} records, {row['bytes']:,} bytes; {row['stranded']:,} of them "
        "stranded, and kept in files"
        for name, row in sorted(by_name(measured["old_side"], **OLD_TOPICS).items())
    )
    return f"**What is deleted and copied again**\n\n{rows}"


def _quarantined(old: str, ranges: list[str]) -> str:
    shown = "\n".join(f"* {code(each)}" for each in ranges[:_MOST_RANGES]) or "* nothing"
    more = (
        f"\n\nAnd {len(ranges) - _MOST_RANGES} more, all of them in the evidence." if len(ranges) > _MOST_RANGES else ""
    )
    return f"**These offsets on {old} are quarantined**\n\n{shown}{more}"

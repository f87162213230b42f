"""What the approvers of a failback are shown: the quarantined offsets, or everything that would be deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_dr.approvals.approval_sheet import Sheet, subject
from kafka_dr.counted import counted
from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.named_rows import by_name
from kafka_dr.quoting import code, markdown
from kafka_dr.runs.run import Run

#: What late records do, by what was chosen for their topic.
_DOES = {
    "deliver": "arrive late on {0}",
    "stranded_topic": "go to topics of their own on {0}",
    "hold": "are delivered nowhere",
}
_CHOICE = {"deliver": "delivered", "stranded_topic": "to a stranded topic", "hold": "held"}
#: More offsets than this are in the evidence alone.
_MOST_RANGES = 100


def sheet(run: Run, seen: Mapping[str, Any]) -> Sheet:
    """Return the question and its grounds.

    :param seen: the evidence of preflight
    """
    facts = seen["facts"]
    decided, measured = facts["decision"], facts["measurements"]
    group, active, old = (markdown(name) for name in (run.group.name, run.source, run.target))
    rebuild, delivers = decided["mode"] == "rebuild", decided["mode"] == "deliver"
    republish, late = decided["rescue"] == "republish", decided.get("late", ())
    arrive = delivers and (not late or any(row["choice"] == "deliver" for row in late))
    kept = (
        "published again" if republish else f"kept in files{_arriving(active, late)}" if delivers else "kept in files"
    )
    stranded = f"{decided['stranded']['records']:,} uncopied records of {old} are {kept}"
    if erased := decided["stranded"].get("erased"):
        stranded += f", except {erased:,} whose content was erased"
    return Sheet(
        subject=subject("failback", _question(run, decided), dry_run=run.request.dry_run),
        moves=f"nothing: {group} stays on {active}. **{old}**, which is no copy since an unplanned failover, becomes "
        f"its copy again{_untouched(run)}",
        lost=stranded if rebuild else f"{stranded}. Nothing is deleted",
        writes_stop="never",
        read_again=f"nothing. Consumers stay on {active}"
        + (". The records that are published again arrive there as new ones" if republish else "")
        + (f". Late records of {old} follow in their copies on {active}" if arrive else ""),
        on_failure="`dr_resume` finishes or abandons it. Applications are not affected",
        destroys=f"{_deleted(run, measured)}." if rebuild else "",
        consequence="deletes topics" if rebuild else "lets late records arrive" if arrive else "starts the failback",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=_details(old, decided, measured),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def _details(old: str, decided: Mapping[str, Any], measured: Mapping[str, Any]) -> tuple[str, ...]:
    match decided["mode"]:
        case "rebuild":
            return (_what_is_deleted(measured),)
        case "quarantine":
            return (_quarantined(old, decided["quarantine"]),)
        case _:
            passed_over = (_quarantined(old, decided["quarantine"]),) if decided["quarantine"] else ()
            return (*_late(decided.get("late", ()), str(decided.get("listed_at", ""))), *passed_over)


def _arriving(active: str, late: Sequence[Mapping[str, Any]]) -> str:
    """Say what becomes of late records, and which of them may be older than what their readers have, as a clause."""
    if not late:
        return f", and arrive late on {active}"
    by_choice = Counter[str]()
    for row in late:
        by_choice[row["choice"]] += row["records"]
    said = [f"{by_choice[choice]:,} {does.format(active)}" for choice, does in _DOES.items() if by_choice[choice]]
    parts = said if len(said) > 1 else [f"they {_DOES[late[0]['choice']].format(active)}"]
    written, outdated = (sum(row[name] for row in late) for name in ("written_since", "outdated"))
    older = f"; {counted(outdated, 'is', 'are')} older than what their copies keep" if outdated else ""
    deleted = sum(row["outdated"] for row in late if row["choice"] == "deliver")
    older += f", and {counted(deleted, 'does', 'do')} not stay there" if deleted else ""
    keyed = counted(written, "has a key", "have keys") if written else "none has a key"
    return f": {', '.join(parts)}. Of these {keyed} written on {active} since{older}"


def _late(rows: Sequence[Mapping[str, Any]], listed_at: str) -> Iterable[str]:
    """Say of each topic what becomes of its late records."""
    if rows:
        held = any(row["outdated"] and row["choice"] == "hold" for row in rows)
        why = "\n\nA topic with records too old to stay is held, unless the form says *deliver*." if held else ""
        shown = "\n".join(
            f"* {code(row['topic'])}: {counted(row['records'], 'record')}, {row['written_since']:,} with a key written "
            f"since, {row['outdated']:,} too old to stay; {_CHOICE[row['choice']]}"
            for row in rows[:_MOST_RANGES]
        )
        more = f"\n\nAnd {len(rows) - _MOST_RANGES} more, all of them in the evidence." if rows[_MOST_RANGES:] else ""
        yield f"**Late records, as listed at {code(listed_at[:16])} UTC**\n\n{shown}{more}{why}"


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
    yield (
        f"{_topics(decided)} with at most {counted(_held(measured), 'record')} would be deleted on {run.target} "
        f"and copied "
        f"again from {run.source}"
    )


def _untouched(run: Run) -> str:
    """Name the standbys that the failback does not concern, as it follows a clause; empty if there is none."""
    others = [markdown(name) for name in run.group.clusters if name not in (run.source, run.target)]
    return f"; {' and '.join(others)} {'stays' if len(others) == 1 else 'stay'} as before" if others else ""


def _question(run: Run, decided: Mapping[str, Any]) -> str:
    if decided["mode"] == "rebuild":
        return f"delete {_topics(decided)} of {run.group.name} on {run.target}?"
    return f"make {run.target} a copy of {run.source} for {run.group.name} again?"


def _topics(decided: Mapping[str, Any]) -> str:
    number = len(decided["deletes"])
    return f"{number} topic{'' if number == 1 else 's'}"


def _held(measured: Mapping[str, Any]) -> int:
    """Return how many records the topics of the old cluster hold at most."""
    return sum(int(row["records"]) for row in by_name(measured["old_side"], **OLD_TOPICS).values())


def _deleted(run: Run, measured: Mapping[str, Any]) -> str:
    old, active = markdown(run.target), markdown(run.source)
    many = counted(_held(measured), "record is", "records are")
    return f"At most {many} deleted on {old}, and copied again from {active}"


def _what_is_deleted(measured: Mapping[str, Any]) -> str:
    rows = "\n".join(
        f"* {code(name)}: at most {counted(row['records'], 'record')}, {row['bytes']:,} bytes; "
        f"{row['stranded']:,} of them "
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

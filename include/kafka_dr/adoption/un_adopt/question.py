"""What the approver of a release is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_dr.adoption.un_adopt.leave import registers_said
from kafka_dr.approvals.approval_sheet import Sheet, subject
from kafka_dr.approvals.decision import partitions_said
from kafka_dr.quoting import code, markdown
from kafka_dr.runs.run import Run

#: Topics that are named in the question; the evidence has all of them.
_MOST_TOPICS = 20


def sheet(run: Run, seen: Mapping[str, Any]) -> Sheet:
    """Return the question and its grounds.

    :param seen: the evidence of preflight
    """
    facts = seen["facts"]
    decided, measured = facts["decision"], facts["measurements"]
    if decided.get("leaves"):
        return _sheet_of_leaving(run, seen)
    group, active = markdown(run.group.name), markdown(run.source)
    standbys = [f"**{markdown(cluster)}**" for cluster, _ in measured["denies"] if cluster != run.source]
    asked = f"stop to protect {run.group.name}, which is active on {run.source}?"
    denies = " and ".join(f"{count} on {markdown(cluster)}" for cluster, count in measured["denies"])
    return Sheet(
        subject=subject(run.request.verb, asked, dry_run=run.request.dry_run),
        moves=f"no application: **{group}** stays active on **{active}**, with {partitions_said(decided)}. "
        f"Every DENY that this project added is lifted ({denies}): {' and '.join(standbys)} "
        f"{'accepts' if len(standbys) == 1 else 'accept'} writes of the applications again, and nothing keeps them "
        "from writing there",
        lost=f"nothing. {copied_by(decided, measured)}",
        writes_stop="not at all",
        read_again=_twice(measured),
        on_failure="until `hand_back` begins, `abandon` keeps the group adopted; after it the run can only be finished",
        warnings=("**Nobody can fail over this group afterwards.** Adopt it again to protect it.",),
        consequence="lifts every DENY that this project added, and ends the protection of the group",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def _sheet_of_leaving(run: Run, seen: Mapping[str, Any]) -> Sheet:
    decided = seen["facts"]["decision"]
    leaves, group = markdown(decided["leaves"]), markdown(run.group.name)
    stay = ", ".join(f"{markdown(name)} ({markdown(role)})" for name, role in decided["stay"])
    after = "what was copied to it stays there, as topics like any other. Then its DENYs are lifted"
    warnings: tuple[str, ...] = ()
    if decided["off"]:
        after = (
            "nothing is asked of it, and it stays fenced: **dr_health** fences it if it returns while it is declared"
        )
        warnings = (
            f"**{leaves} has to be off for ever.** Nothing there is stopped. If it still runs, its applications may "
            "write, and nobody lists what it holds that no other cluster has.",
        )
    return Sheet(
        subject=subject(
            run.request.verb, f"let {decided['leaves']} leave {run.group.name}?", dry_run=run.request.dry_run
        ),
        moves=f"no application: **{group}** stays adopted, with {stay}. **{leaves}** ({markdown(decided['was'])}) is "
        f"none of its clusters any more, and nothing copies to it: {after}",
        lost="nothing of what the other clusters hold",
        writes_stop="not at all",
        read_again="nothing",
        on_failure="until `hand_back` begins, `abandon` keeps the standby; after it the run can only be finished",
        warnings=warnings,
        details=(f"By majority: {registers_said(run.record(), leaves)}.",),
        consequence=f"removes the flow to {leaves}, and takes it out of the registers",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        words=(
            ("Reason, as the requester wrote it", run.request.reason),
            *((("Known to be off, as the requester wrote it", str(decided["off"])),) if decided["off"] else ()),
        ),
    )


def costs(run: Run, facts: Mapping[str, Any]) -> Iterable[str]:
    """Say what a real run would lose and cost."""
    denies = sum(count for _, count in facts["measurements"]["denies"])
    if leaves := facts["decision"].get("leaves"):
        yield f"A real run would lift {denies} DENYs on {leaves}, and {run.group.name} would have one standby less"
        return
    yield f"A real run would lift {denies} DENYs, and nothing would protect {run.group.name} any more"


def copied_by(decided: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """Say what copies the topics after the release, and which of them nothing copies."""
    if decided["hand_back_to"] == "own_flow":
        return "This project's flow continues to copy, and nobody looks after it"
    said = f"{markdown(measured['existing'])} copies again, as {code(decided['former_principal'])}"
    left = decided["uncopied_topics"]
    if not left:
        return said
    more = f" and {len(left) - _MOST_TOPICS} more" if len(left) > _MOST_TOPICS else ""
    return f"{said}. **Nothing copies** {', '.join(code(topic) for topic in left[:_MOST_TOPICS])}{more}"


def _twice(measured: Mapping[str, Any]) -> str:
    seed = measured["abilities"].get("seed")
    if seed is None or seed["can"]:
        return "nothing: it continues at the exact offset"
    return (
        "nothing by consumers on the active cluster. The copy gets records twice: what was copied since the adoption, "
        f"as the existing replication takes no positions ({markdown(seed['reason'])})"
    )

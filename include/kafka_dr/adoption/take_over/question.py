"""What the approver of a take over is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_dr.adoption.take_over.decision import FINDINGS
from kafka_dr.approvals.approval_sheet import Sheet, subject
from kafka_dr.approvals.decision import partitions_said
from kafka_dr.named_rows import by_name
from kafka_dr.quoting import code, markdown
from kafka_dr.runs.run import Run

#: Topics whose findings are in the question; the evidence has all of them.
_MOST_TOPICS = 20
#: What each ability is called, in the order in which it is shown.
_ABILITIES = {
    "state": "say what it does",
    "positions": "say how far it has read",
    "exactly_once": "be known to copy each record once",
    "stop": "be asked to stop",
    "resume": "be asked to run again",
    "seed": "be given positions",
}


def sheet(run: Run, seen: Mapping[str, Any]) -> Sheet:
    """Return the question and its grounds.

    :param seen: the evidence of preflight
    """
    facts = seen["facts"]
    decided, measured = facts["decision"], facts["measurements"]
    group, active, standby = (markdown(name) for name in (run.group.name, run.source, run.target))
    then = f"{code(decided['existing_replication']['principal'])} is denied there"
    if decided["existing_replication"]["is_deleted"]:
        then = "deleted when the group is adopted"
    asked = f"replace what copies {run.group.name} from {run.source} to {run.target}, and protect it?"
    return Sheet(
        subject=subject(run.request.verb, asked, dry_run=run.request.dry_run),
        moves=f"no application: **{group}** stays active on **{active}**. What copies {partitions_said(decided)} to "
        f"**{standby}** is stopped, {then}, and this project's flow continues at the same offset",
        lost=_faults(decided),
        writes_stop=f"not at all: applications write to {active} all the time. From the stop of the existing "
        "replication to the start of this project's flow nothing is copied",
        read_again=f"nothing: consumers read on {active} all the time",
        on_failure="until `settle` everything is given back: DENYs are lifted, and the existing replication runs as "
        "before. After `settle` the group is adopted",
        warnings=_cannot(measured["abilities"]),
        consequence="stops the existing replication, and adopts the group with the faults that its copy has",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=(*_examples(measured), f"The existing replication: {markdown(measured['existing'])}."),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def costs(run: Run, facts: Mapping[str, Any]) -> Iterable[str]:
    """Say what a real run would lose and cost."""
    faults = by_name(facts["decision"]["findings"], named="topic", holding="records")
    count = sum(sum(kinds.values()) for kinds in faults.values())
    yield f"A real run would replace {facts['measurements']['existing']}; applications are not affected"
    yield f"Its copy has {count:,} faults, which would stay" if count else "Its copy has no fault"


def _faults(decided: Mapping[str, Any]) -> str:
    """Say which faults of the copy stay: they are approved as they are, or the take over is rejected."""
    topics = by_name(decided["findings"], **FINDINGS)
    if not topics:
        return "nothing: every record of the copy that the audit compared is equal"
    total: Counter[str] = Counter()
    for kinds in topics.values():
        total.update(kinds)
    said = "; ".join(f"{code(topic)}: {_counted(kinds)}" for topic, kinds in list(topics.items())[:_MOST_TOPICS])
    more = f"; and {len(topics) - _MOST_TOPICS} more topics" if len(topics) > _MOST_TOPICS else ""
    return (
        f"nothing new. The existing replication has left faults in its copy, which stay as they are if you approve: "
        f"{_counted(total)} ({said}{more})"
    )


def _counted(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {markdown(kind)}" for kind, count in sorted(kinds.items()))


def _examples(measured: Mapping[str, Any]) -> tuple[str, ...]:
    if not measured["examples"]:
        return ()
    shown = "\n".join(f"* {markdown(each)}" for each in measured["examples"])
    return (f"**What the audit found**, the first ones:\n\n{shown}",)


def _cannot(abilities: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Say what the existing replication cannot, and what follows from that."""
    missing = [
        f"{words} ({markdown(abilities[name]['reason'])})"
        for name, words in _ABILITIES.items()
        if name in abilities and not abilities[name]["can"]
    ]
    said = [f"The existing replication cannot {'; cannot '.join(missing)}."] if missing else []
    if not abilities["seed"]["can"]:
        said.append("If it is given back after this project's flow has copied records, it copies these a second time.")
    return tuple(said)

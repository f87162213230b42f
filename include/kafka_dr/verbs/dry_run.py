"""What a dry run reports: the group, the direction, and what a real run would lose and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.failover.unplanned.question import loss_sentence
from kafka_dr.group_offsets import group_costs
from kafka_dr.named_rows import by_name
from kafka_dr.register import Verb
from kafka_dr.runs.run import Run
from kafka_dr.verb_words import verb_words

Facts = Mapping[str, Any]


def sentence(run: Run, facts: Facts) -> str:
    """Return the report of a dry run of a step.

    :param facts: of a verb's first step: what an approver would be shown; empty for every other step
    """
    said = f"dry run of a {verb_words(run.request.verb)} of {run.group.name}, {run.source} → {run.target}"
    more = costs(run, facts) if "measurements" in facts else ()
    return ". ".join((f"{said}: nothing was changed", *more))


def costs(run: Run, facts: Facts) -> tuple[str, ...]:
    """Say in sentences what a real run would lose and cost.

    :param facts: with the ``measurements`` of the verb's first step; of a failback also its ``decision``
    """
    return tuple(_COSTS[run.request.verb](run, facts))


def _planned(run: Run, facts: Facts) -> Iterable[str]:
    measured = facts["measurements"]
    yield f"A real run would lose no record: {run.target} is opened only when every record is found there"
    yield f"Writes would stop for: {measured['predicted_write_outage']['sentence']}"
    yield f"Consumer groups: {group_costs.in_short(measured['groups'])}"


def _unplanned(run: Run, facts: Facts) -> Iterable[str]:
    measured = facts["measurements"]
    yield f"A real run would give up {run.source}; records lost on {run.target}: " + loss_sentence(
        measured["predicted_loss"]
    )
    yield f"Consumer groups: {group_costs.in_short(measured['groups'])}"


def _failback(run: Run, facts: Facts) -> Iterable[str]:
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


def _take_over(run: Run, facts: Facts) -> Iterable[str]:
    faults = by_name(facts["decision"]["findings"], named="topic", holding="records")
    count = sum(sum(kinds.values()) for kinds in faults.values())
    yield f"A real run would replace {facts['measurements']['existing']}; applications are not affected"
    yield f"Its copy has {count:,} faults, which would stay" if count else "Its copy has no fault"


def _un_adopt(run: Run, facts: Facts) -> Iterable[str]:
    denies = sum(count for _, count in facts["measurements"]["denies"])
    yield f"A real run would lift {denies} DENYs, and nothing would protect {run.group.name} any more"


_COSTS: Mapping[Verb, Callable[[Run, Facts], Iterable[str]]] = {
    "planned_failover": _planned,
    "unplanned_failover": _unplanned,
    "failback": _failback,
    "take_over": _take_over,
    "un_adopt": _un_adopt,
}

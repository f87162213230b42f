"""What an approver of an unplanned failover is shown: what was seen, the least loss, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_dr.approvals.approval_sheet import Sheet, begins, listed, read_again, subject
from kafka_dr.approvals.decision import partitions_said
from kafka_dr.evidence.loss_line import loss_line
from kafka_dr.failover.planned import copy_first
from kafka_dr.group_offsets import group_costs
from kafka_dr.quoting import code, markdown
from kafka_dr.runs.run import Run


def sheet(run: Run, seen: Mapping[str, Any]) -> Sheet:
    """Return the question and its grounds.

    :param seen: the evidence of the verb's first step
    """
    facts = seen["facts"]
    decision, measured = facts["decision"], facts["measurements"]
    group, source, target = (markdown(name) for name in (run.group.name, run.source, run.target))
    again, each = read_again(measured["groups"])
    return Sheet(
        subject=subject(
            run.request.verb,
            f"give up {run.source} and move {run.group.name} to {run.target}?",
            dry_run=run.request.dry_run,
        ),
        moves=f"**{group}** goes from **{source}**, which is given up, to **{target}**, with "
        f"{partitions_said(decision)}",
        lost=markdown(loss_sentence(measured["predicted_loss"], at=str(seen.get("finished_at", "")))),
        writes_stop=f"from when {source} went down until {target} is open. The run waits neither for {source} nor for "
        f"the flow{f'. {markdown(said)}' if (said := copy_first.question(run)) else ''}",
        read_again=again,
        on_failure="before `open_target` it is rolled back, after it only finished. If it "
        f"cannot be proven that {source} refuses writes, the group ends *unfenced*: as soon as {source} answers again, "
        "it is fenced, and what it accepted until then is counted. These records have to be rescued by a failback",
        warnings=(
            *_warnings(decision, seen),
            *begins(decision),
            *map(markdown, measured["more_than_offsets"]),
            *map(markdown, measured.get("others_hold", ())),
        ),
        consequence="moves the group without uncopied records",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=(
            "Records that belong together but are in several partitions or topics may be separated: some are copied, "
            "others are not, as replication is not atomic across partitions.",
            *each,
            listed(f"Probes of {source}", measured["probes"]),
            f"**Could not be checked**: {markdown('; '.join(measured['could_not_be_checked']) or 'nothing')}",
        ),
        words=(
            ("Why the rule is overridden, as the requester wrote it", run.request.override),
            ("Reason, as the requester wrote it", run.request.reason),
        ),
    )


def costs(run: Run, facts: Mapping[str, Any]) -> Iterable[str]:
    """Say what a real run would lose and cost."""
    measured = facts["measurements"]
    yield f"A real run would give up {run.source}; records lost on {run.target}: " + loss_sentence(
        measured["predicted_loss"]
    )
    yield f"Consumer groups: {group_costs.in_short(measured['groups'])}"


def loss_sentence(loss: Mapping[str, Any], *, at: str = "") -> str:
    """Say what is known of the loss, with what an open transaction held back.

    :param at: when that was said, ISO 8601; empty if it does not matter
    """
    said = loss_line(loss, at=at)
    if held := loss.get("held_back"):
        return f"{said}. Of what was there then, {held}; the first number does not count what may still be aborted"
    return said


def _warnings(decision: Mapping[str, Any], seen: Mapping[str, Any]) -> list[str]:
    found = []
    if any(row["outcome"] == "overridden" for row in seen["checks"]):
        found.append("**A rule that forbids this is overridden.**")
    elif decision["override"]:
        found.append("The requester has overridden the rule, although it holds at the moment.")
    if decision["taken_from"]:
        found.append(f"This run takes the group from run {code(decision['taken_from'])}, which died while switching.")
    return found

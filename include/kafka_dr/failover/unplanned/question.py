"""What an approver of an unplanned failover is shown: what was seen, what is lost at least, and what nobody knows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kafka_dr.failover import group_costs
from kafka_dr.failover.decision import partitions_said
from kafka_dr.failover.run import Run


def body(run: Run, seen: dict[str, Any], expires_at: datetime) -> str:
    """Return the question as Markdown.

    :param seen: the evidence of the verb's first step
    """
    facts = seen["facts"]
    decision, measured = facts["decision"], facts["measurements"]
    return "\n\n".join(
        (
            f"**{run.group.name}** is active on **{run.source}**, which is taken to be down, and would be active on "
            f"**{run.target}**, with {partitions_said(decision)}.",
            *_warnings(decision),
            f"Reason given: {run.request.reason or 'none'}",
            f"**Loss**: {loss_sentence(measured['predicted_loss'])}",
            "Rows that belong together and lie in several partitions or topics may be cut apart: replication is not "
            "atomic across partitions.",
            f"**Groups**: {group_costs.in_words(measured['groups'])}",
            *(f"⚠ {sentence}" for sentence in measured["more_than_offsets"]),
            _table("check", seen["checks"]),
            _table(f"probe of {run.source}", measured["probes"]),
            f"**Could not be checked**: {'; '.join(measured['could_not_be_checked']) or 'nothing'}",
            "Until `open_target` every failure is rolled back; after it the run only goes forward. If it cannot be "
            f"proven that {run.source} refuses writes, the group ends *unfenced*: what it still accepts until "
            "its return is counted, kept and has to be rescued. The way back is a failback.",
            f"Valid until {expires_at:%Y-%m-%d %H:%M:%S} UTC. Digest of the facts: `{facts['digest']}`\n",
        )
    )


def loss_sentence(loss: dict[str, Any]) -> str:
    """Say what is known of the loss."""
    if loss["at_least_records"] is None:
        return f"not known: {loss['reason']}"
    return f"at least {loss['at_least_records']} records, as of {loss['as_of'][:19]} UTC; unknown after"


def _warnings(decision: dict[str, Any]) -> list[str]:
    found = []
    if decision["override"]:
        found.append(f"⚠ **The rule is overridden**: {decision['override']}")
    if decision["taken_from"]:
        found.append(f"⚠ It is taken from run {decision['taken_from']}, which died while switching.")
    return found


def _table(title: str, rows: list[dict[str, Any]]) -> str:
    lines = [f"| {row['name']} | {row['outcome']} | {row['detail']} |" for row in rows]
    return "\n".join((f"| {title} | outcome | seen |", "| --- | --- | --- |", *lines))

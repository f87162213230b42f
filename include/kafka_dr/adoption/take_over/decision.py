"""What the approval of a take over is about: which replication is stopped, and which faults of its copy stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.approvals.decision import of_switch
from kafka_dr.errors import KafkaDrError
from kafka_dr.named_rows import rows_of
from kafka_dr.outcomes import Check

#: The findings of a topic, for :func:`~kafka_dr.named_rows.rows_of`.
FINDINGS = {"named": "topic", "holding": "records"}


def facts(context: TakeOverContext, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the decision facts as they are now.

    :param checks: results of the checks of the same moment
    """
    declared = context.declared
    return {
        **of_switch(context.run, checks, seen_on=context.run.source),
        "existing_replication": {
            "replicator": declared.replicator,
            "principal": declared.principal,
            "connectors": list(declared.connectors),
            "stop_command": list(declared.stop_command or ()),
            "start_command": list(declared.start_command or ()),
            "is_deleted": context.run.group.existing_is_own,
        },
        **_of_the_audit(context),
    }


def _of_the_audit(context: TakeOverContext) -> dict[str, Any]:
    try:
        found = context.audited
    except KafkaDrError:
        # A check says what is wrong, and nothing is approved without an audit.
        return {"audit": None, "findings": []}
    return {
        "audit": {"report": found.report, "sha256": found.sha256},
        "findings": rows_of(found.findings, **FINDINGS),
    }


def measured(context: TakeOverContext) -> dict[str, Any]:
    """Measure what the approvers are shown for information; the approval does not cover it.

    Positions are not asked for: to list them, Strimzi's operator needs an annotation, which is a change.
    """
    run, existing = context.run, context.existing
    return {
        "existing": existing.described,
        "abilities": existing.abilities().to_json(),
        "status": existing.status().to_json(),
        "audited_at": context.audited.at.isoformat(),
        "audit_says": context.audited.sentence,
        "examples": list(context.audited.examples),
        "partitions": len(run.partitions(run.source)),
    }

"""What a person who ran an audit by hand does with it: only a recorded audit counts for a failover."""

from __future__ import annotations

from typing import Any

from jobs.flows import flow_of
from kafka_dr.audit.proof import proof_digest
from kafka_dr.audit.result import AuditKind, ResultStore, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.topology.audited import AuditedFlow


def how_to_record(root: Any, kind: AuditKind, declared: AuditedFlow) -> str:
    """Return the command that records the newest audit of a flow, with its digest, or why nothing can be recorded.

    :param root: the evidence root
    """
    flow = flow_of(declared)
    try:
        result = ResultStore(root).newest(kind, group=flow.group, source=flow.source, target=flow.target)
        if result is None:
            return f"no result of the {kind} audit of {flow} was kept"
        digest = proof_digest(root, result)
    except (ResultUnreadable, ValueError, OSError) as error:
        return f"this audit cannot be recorded: {cause(error)}"
    more = "" if kind is AuditKind.CHECKSUM else f" --audit {kind}"
    return f"if a person ran it: python -m kafka_dr record-audit {declared.name} --sha256 {digest}{more}"

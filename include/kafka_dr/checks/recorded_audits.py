"""Results of audits that the task which filed them has journaled: a file that was changed afterwards is not believed.

A Spark job writes its result below the evidence root, where others may write, too. The task that started the job has
the operator's credentials, and journals the result's digest in the registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr import parallel
from kafka_dr.audit import AuditKind, AuditResult, GateAnswer, GateVerdict, ResultStore
from kafka_dr.errors import KafkaDrError
from kafka_dr.replication import Flow
from kafka_dr.runs.clients import Clients

#: Results are journaled under this name instead of a run's.
AUDITS = "audits"


def record_audit(clients: Clients, result: AuditResult) -> None:
    """Journal the digest of the newest result of a flow; the active cluster's register has to take it.

    :param result: of an audit of the flow from the active cluster to the standby
    :raises KafkaDrError: that register did not take it
    """
    payload = {"sha256": result.sha256, "at": result.at.isoformat()}
    fact = _fact(result.kind, result.source, result.target)

    def write(cluster: str) -> None:
        clients.register(cluster).write_fact(result.group, AUDITS, fact, payload)

    answers = parallel.ask_each(write, (result.source, result.target))
    if isinstance(error := answers[result.source], KafkaDrError):
        raise error


def filed(root: Any, flow: Flow, kind: AuditKind, *, report: str) -> AuditResult | None:
    """Return the result that a job has just filed, to be journaled; ``None`` if the newest result is another one.

    :param root: the evidence root
    :param report: where the job's report is, below the evidence root: only the result of that report is returned, so
        that a forged result that claims to be newer is not journaled
    :raises ResultUnreadable: it is damaged
    """
    found = ResultStore(root).newest(kind, group=flow.group, source=flow.source, target=flow.target)
    return found if found is not None and found.report.endswith(report) else None


def unless_changed(
    verdict: GateVerdict, history: Mapping[str, Mapping[str, Any]], flow: Flow, kind: AuditKind
) -> GateVerdict:
    """Return the verdict on a result, or that it is unknown, because the result is not the one that was journaled.

    A flow whose audits were never journaled, by a former version, is judged by its file alone.

    :param history: everything journaled about the group, by run and fact
    """
    recorded = history.get(AUDITS, {}).get(_fact(kind, flow.source, flow.target))
    if recorded is None or (verdict.result is not None and verdict.result.sha256 == recorded["sha256"]):
        return verdict
    seen = "differs from what was recorded" if verdict.result is not None else "is not the one that was recorded"
    sentence = (
        f"the file of the newest {kind} audit of {flow.group} {flow.source}→{flow.target} {seen} in the register (of "
        f"{recorded['at']}), so it is not believed: run dr_{kind}_audit again, and find out who changed it"
    )
    return GateVerdict(GateAnswer.UNKNOWN, sentence, verdict.result)


def _fact(kind: AuditKind, source: str, target: str) -> str:
    return f"{kind}.{source}-to-{target}"

"""Results of audits that the task which filed them has journaled: a file that was changed afterwards is not believed.

A Spark job writes its result below the evidence root, where others may write, too. The task that started the job has
the operator's credentials, and journals the result's digest in the registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr import parallel
from kafka_dr.audit.gate import GateAnswer, GateVerdict
from kafka_dr.audit.recorded_input import RecordedInput, inputs_of
from kafka_dr.audit.result import AuditKind, AuditResult, ResultStore
from kafka_dr.errors import KafkaDrError
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.recorded_inputs import (
    AUDITS,
    UnrecordedInput,
    newest_records,
    record_input,
    unrecorded,
)


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


def record_inputs(clients: Clients, flow: Flow) -> None:
    """Journal the digests of what a checksum audit of a flow has just kept: the frontier and the offset map.

    :raises KafkaDrError: the source's register, which decides about a planned failover, did not take them
    :raises OSError: the storage refuses
    """
    found = {each: each.sha256(clients.evidence_root) for each in _inputs(flow)}
    if not any(found.values()):
        return

    def write(cluster: str) -> None:
        for what, sha256 in found.items():
            if sha256:
                record_input(clients.register(cluster), what, sha256, at=clients.clock.now())

    answers = parallel.ask_each(write, (flow.source, flow.target))
    if isinstance(error := answers[flow.source], KafkaDrError):
        raise error


def drop_unrecorded(clients: Clients, flow: Flow) -> tuple[UnrecordedInput, ...]:
    """Remove what an audit of a flow would continue from if others wrote it, and return what was removed.

    What an audit has kept, and its task could not record because it died, is removed as well.

    :raises KafkaDrError: the source's register cannot be read
    :raises OSError: the storage refuses
    """
    root = clients.evidence_root
    if not any(each.sha256(root) for each in _inputs(flow)):
        return ()
    ends = (flow.source, flow.target)
    found = unrecorded(root, lambda: newest_records(clients.register, flow.group, ends), _inputs(flow))
    for each in found:
        each.what.remove(root)
    return found


def _inputs(flow: Flow) -> tuple[RecordedInput, ...]:
    return inputs_of(flow.group, (f"{flow.source}-to-{flow.target}",))


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

    A flow of which no audit is journaled yet is judged by its file alone.

    :param history: everything journaled about the group, by run and fact
    """
    recorded = history.get(AUDITS, {}).get(_fact(kind, flow.source, flow.target))
    if recorded is None or (verdict.result is not None and verdict.result.sha256 == recorded["sha256"]):
        return verdict
    again = f"run dr_{kind}_audit again"
    known = f"of the newest {kind} audit of {flow.group} {flow.source}→{flow.target}"
    if verdict.result is None:
        sentence = (
            f"the evidence holds no file {known}, which the register has (of {recorded['at']}): evidence.root was "
            "changed, this process sees another storage, or somebody removed the file. Name the former root, copy what "
            f"it holds, or {again}"
        )
    else:
        sentence = (
            f"the file {known} differs from what was recorded in the register (of {recorded['at']}), so it is not "
            f"believed: {again}. An audit by hand is recorded with `record-audit`; if there was none, find out who "
            "changed the file"
        )
    return GateVerdict(GateAnswer.UNKNOWN, sentence, verdict.result)


def _fact(kind: AuditKind, source: str, target: str) -> str:
    return f"{kind}.{source}-to-{target}"

"""What Spark's audits and the canary have found of an observed flow, from kept files alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable
from kafka_dr.audit.settled import SettledFlow, read_settled
from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.topology.observed import ObservedFlowSpec
from kafka_dr.watch_results import CALM, KeptResult, WatchName, WatchResultStore

_QUESTIONS: Mapping[WatchName, str] = {
    "checksum": "Checksum audit: every record of both logs",
    "lag": "Lag audit: what is not copied yet, and the consumer groups",
    "canary": "Canary: numbered records through the flow",
}
#: What is done first, by what an audit says.
_FIRST: Mapping[tuple[WatchName, str], str] = {
    (
        "checksum",
        "failed",
    ): "open its report, which has the offsets; the runbook of dr_checksum_audit says what each kind means",
    ("lag", "failed"): "look at the replicator; the runbook of dr_lag_audit says what each finding means",
    ("canary", "failed"): "look at the replicator: does it copy the canary's topic, and keep up?",
}
_UNKNOWN = "look at its newest run, and run it again"
_VERDICTS: Mapping[AuditVerdict, str] = {
    AuditVerdict.GREEN: "ok",
    AuditVerdict.WARNING: "failed",
    AuditVerdict.RED: "failed",
    AuditVerdict.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class KeptAudits:
    """What is kept of one flow.

    :param settled: what checksum audits have settled; ``None`` if there was none
    :param rows: the newest result of each audit and of the canary, as JSON
    :param problems: a sentence for each thing that cannot be read
    """

    settled: SettledFlow | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[str, ...] = ()


NO_AUDITS = KeptAudits()


def kept_audits(root: Any, flow: ObservedFlowSpec) -> KeptAudits:
    """Return what is kept of a flow.

    :param root: the evidence root, a path object
    """
    problems: list[str] = []
    settled = None
    if flow.audits is not None:
        try:
            settled = read_settled(root, flow.name, f"{flow.source.name}-to-{flow.target.name}")
        except (DocumentDamaged, KafkaDrError, OSError) as error:
            problems.append(f"what checksum audits have found cannot be read: {cause(error)}; audit in full")
    watches: list[WatchName] = [name for name in flow.watches if name != "observation"]
    rows = tuple(_row(root, flow, name, problems) for name in watches)
    return KeptAudits(settled, rows, tuple(problems))


def _row(root: Any, flow: ObservedFlowSpec, watch: WatchName, problems: list[str]) -> Mapping[str, Any]:
    row: dict[str, Any] = {
        "audit": _QUESTIONS[watch],
        "verdict": "unknown",
        "at": "",
        "since": "",
        "said": "",
        "first": "",
    }
    try:
        kept = WatchResultStore(root).read(flow.name, watch)
        by_hand = None if watch == "canary" else _by_hand(root, flow, AuditKind(watch))
    except (DocumentDamaged, ResultUnreadable, KafkaDrError, OSError) as error:
        problems.append(f"the newest result of {watch} cannot be read: {cause(error)}")
        return row | {"said": "it cannot be read", "first": _UNKNOWN}
    if kept is not None and (by_hand is None or kept.looked_at >= by_hand.at):
        return row | _of_watch(kept)
    if by_hand is not None:
        verdict = _VERDICTS[by_hand.verdict]
        said = {"verdict": verdict, "at": _moment(by_hand.at), "said": by_hand.sentence}
        return row | said | {"first": what_first(watch, verdict)}
    return row | {"said": "there was none yet", "first": f"unpause {_dag(watch)}"}


def _by_hand(root: Any, flow: ObservedFlowSpec, kind: AuditKind) -> AuditResult | None:
    return ResultStore(root).newest(kind, group=flow.name, source=flow.source.name, target=flow.target.name)


def _of_watch(kept: KeptResult) -> dict[str, Any]:
    verdict = "ok" if kept.outcome in CALM else "failed" if kept.outcome == "failed" else "unknown"
    said = kept.sentences[0] if kept.sentences else ""
    times = {"at": _moment(kept.looked_at), "since": _moment(kept.begun)}
    return {"verdict": verdict, **times, "said": said, "first": what_first(kept.watch, verdict)}


def what_first(watch: WatchName, verdict: str) -> str:
    """Return what is done first about a result of an observed flow; empty if nothing is.

    :param verdict: ``ok``, ``failed`` or ``unknown``
    """
    return "" if verdict == "ok" else _FIRST.get((watch, verdict), _UNKNOWN)


def _dag(watch: WatchName) -> str:
    return "dr_canary" if watch == "canary" else f"dr_{watch}_audit"


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

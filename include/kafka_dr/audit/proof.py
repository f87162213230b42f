"""What an audit has kept, as one digest: whoever ran it by hand passes it on to be journaled."""

from __future__ import annotations

import hashlib
from typing import Any

from kafka_dr.audit.recorded_input import inputs_of
from kafka_dr.audit.report_folders import is_report_folder
from kafka_dr.audit.result import AuditKind, AuditResult


def proof_digest(root: Any, result: AuditResult) -> str:
    """Return the digest of a result, its report, and what other programs rely on of it, in hex.

    :param root: the evidence root
    :raises ValueError: its report is not where reports are kept
    :raises OSError: the storage refuses, or the report is gone
    """
    parts = {"result": result.sha256, "report": hashlib.sha256(report_bytes(root, result)).hexdigest()}
    if result.kind is AuditKind.CHECKSUM:
        kept = inputs_of(result.group, (f"{result.source}-to-{result.target}",))
        parts |= {each.fact: each.sha256(root) for each in kept}
    return hashlib.sha256("\n".join(f"{parts[name]} {name}" for name in sorted(parts)).encode()).hexdigest()


def report_bytes(root: Any, result: AuditResult) -> bytes:
    """Return the report of a result as it is kept.

    :raises ValueError: it is not where reports are kept
    :raises OSError: the storage refuses, or the report is gone
    """
    return bytes(root.joinpath(*report_path(result).split("/")).read_bytes())


def report_path(result: AuditResult) -> str:
    """Return where the report of a result is below the evidence root, whatever the name of that root is for Spark.

    :raises ValueError: it is not where reports are kept
    """
    stamp = result.report.removesuffix("/report.json").rpartition("/")[2]
    folder = f"audits/{result.group}/{result.kind}/{result.source}-to-{result.target}"
    if not is_report_folder(stamp) or not result.report.endswith(f"{folder}/{stamp}/report.json"):
        raise ValueError(
            f"the report is in {result.report}, where nobody looks for it: audit again with --out "
            f"EVIDENCE_ROOT/{folder}/20261231T235959Z.by-hand.1, its time in UTC"
        )
    return f"{folder}/{stamp}/report.json"

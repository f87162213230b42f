"""Keeps the report of a look, for programs and as one page, next to earlier ones; old ones are removed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk.exceptions import AirflowException

from kafka_dr.audit.report_folders import prune, report_folder
from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import write_whole
from kafka_dr.quoting import line
from kafka_dr_airflow.topology_file import evidence_root, read_topology

#: How long reports are kept.
_KEPT = timedelta(days=90)


def keep_report(name: str, kind: str, report: Mapping[str, Any], page: str, context: Any) -> str:
    """Keep a report, and return its path below the evidence root.

    :param name: of what was looked at
    :param kind: what looked, and at which part of it: ``observation/east-to-west``
    :param page: the report as HTML
    :raises AirflowException: the storage does not take it
    """
    from kafka_dr.evidence.store import EvidenceStore

    root, now = evidence_root(read_topology(os.environ).evidence), datetime.now(UTC)
    reports = f"audits/{name}/{kind}"
    folder = f"{reports}/{report_folder(now, context['run_id'], context['ti'].try_number)}"
    try:
        EvidenceStore(root).checked(report)
        write_whole(root.joinpath(*folder.split("/"), "report.html"), page.encode())
        write_whole(root.joinpath(*folder.split("/"), "report.json"), json.dumps(report, indent=1).encode())
    except (KafkaDrError, OSError) as error:
        raise AirflowException(f"{name}: its report could not be kept: {line(cause(error))}") from None
    prune(root.joinpath(*reports.split("/")), now=now, keep=_KEPT)
    return f"{folder}/report.json"

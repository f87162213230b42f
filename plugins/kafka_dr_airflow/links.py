"""Buttons on a task's page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

#: Where the plugin serves evidence, below Airflow's own address.
EVIDENCE_PREFIX = "/kafka-dr"


def evidence_url(group: str, run: str) -> str:
    """Return the page that shows what a run saw."""
    return f"{EVIDENCE_PREFIX}/evidence/{quote(group, safe='')}/{quote(run, safe='')}"


def audit_url(report: str) -> str:
    """Return the page that shows what an audit found.

    :param report: of the audit, below the evidence root
    """
    return f"{EVIDENCE_PREFIX}/{quote(report.removesuffix('/report.json'))}"


def trigger_url(dag_id: str) -> str:
    """Return the page with a DAG's trigger button."""
    base = conf.get("api", "base_url", fallback="") or ""
    return f"{base.rstrip('/')}/dags/{dag_id}"


class EvidenceLink(BaseOperatorLink):
    """Leads to what the task's run saw and proved."""

    name = "Evidence"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the page of the run that the task belongs to.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        group = getattr(operator, "protection_group", None) or ti_key.get_template_context()["params"].get(
            "protection_group"
        )
        run = getattr(operator, "resumed_run", None) or ti_key.run_id
        return evidence_url(group, run) if group else ""


class AuditLink(BaseOperatorLink):
    """Leads to what an audit found."""

    name = "Audit"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the page of the report that the task wrote; nothing before there is one.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        place = getattr(operator, "report_place", "")
        return audit_url(place) if place else ""


class StrandedLink(AuditLink):
    """Leads to the list of stranded records."""

    name = "Stranded records"

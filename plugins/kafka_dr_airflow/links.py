"""Buttons on a task's page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

#: Where the plugin serves evidence, below Airflow's own path.
EVIDENCE_PREFIX = "/kafka-dr"


def evidence_url(group: str, run: str) -> str:
    """Return the page that shows what a run saw."""
    return f"{_pages()}/evidence/{quote(group, safe='')}/{quote(run, safe='')}"


def audit_url(report: str) -> str:
    """Return the page that shows what an audit found.

    :param report: of the audit, below the evidence root
    """
    return f"{_pages()}/{quote(report.removesuffix('/report.json'))}"


def trigger_url(dag_id: str) -> str:
    """Return the page with a DAG's trigger button."""
    base = conf.get("api", "base_url", fallback="") or ""
    return f"{base.rstrip('/')}/dags/{dag_id}"


def airflow_path() -> str:
    """Return the path of Airflow's own first page, which is not / where Airflow shares its host with others."""
    return f"{urlsplit(conf.get('api', 'base_url', fallback='') or '').path.rstrip('/')}/"


def _pages() -> str:
    return f"{airflow_path().rstrip('/')}{EVIDENCE_PREFIX}"


def login_url(then: str) -> str:
    """Return where a person logs in, whichever auth manager there is.

    :param then: the path of the page to come back to
    """
    return f"{airflow_path()}api/v2/auth/login?{urlencode({'next': then})}"


class EvidenceLink(BaseOperatorLink):
    """Leads to what the task's run saw and proved."""

    name = "Evidence"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the page of the run that the task belongs to; nothing where the task says that none was kept.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        if not getattr(operator, "evidence_kept", True):
            return ""
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


class ProposedRunLink(BaseOperatorLink):
    """Leads to the failover that a task proposed."""

    name = "Proposed run"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the page of the run; nothing where none is proposed.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        run = getattr(operator, "proposed_run", "")
        return f"{trigger_url(operator.trigger_dag_id)}/runs/{quote(run, safe='')}" if run else ""

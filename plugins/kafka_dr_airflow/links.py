"""Buttons on the page of a task, and the addresses that they open."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

#: Where the plugin serves evidence, below Airflow's own path.
EVIDENCE_PREFIX = "/kafka-dr"


def evidence_url(group: str, run: str) -> str:
    """Return the address of the evidence of a run."""
    return f"{_pages()}/evidence/{quote(group, safe='')}/{quote(run, safe='')}"


def audit_url(report: str) -> str:
    """Return the address of the page of an audit.

    :param report: path of the audit's report, below the evidence root
    """
    return f"{_pages()}/{quote(report.removesuffix('/report.json'))}"


def trigger_url(dag_id: str) -> str:
    """Return the address of a DAG, where its trigger button is."""
    return _outside(f"/dags/{dag_id}")


def run_url(dag_id: str, run: str) -> str:
    """Return the address of a run of a DAG."""
    return f"{trigger_url(dag_id)}/runs/{quote(run, safe='')}"


def start_url(dag_id: str, group: str) -> str:
    """Return the address of a DAG's form that is filled in for a protection group."""
    return f"{_pages()}/start/{dag_id}/{quote(group, safe='')}"


def question_url(dag_id: str, group: str, run: str) -> str:
    """Return the address of the page that shows what a run asks, and takes the answer; as a mail needs it."""
    return _outside(f"{EVIDENCE_PREFIX}/question/{dag_id}/{quote(group, safe='')}/{quote(run, safe='')}")


def dialog_url(dag_id: str, run: str) -> str:
    """Return the address where Airflow itself shows what a run of a DAG asks."""
    return f"{run_url(dag_id, run)}/required_actions"


def status_url() -> str:
    """Return the address of the status page."""
    return f"{_pages()}/status"


def group_url(group: str) -> str:
    """Return the address of everything that is kept of a protection group."""
    return f"{_pages()}/groups/{quote(group, safe='')}"


def result_url(group: str, watch: str) -> str:
    """Return the address of a watch's newest result for a protection group."""
    return f"{_pages()}/results/{quote(group, safe='')}/{quote(watch, safe='')}"


def stranded_url(group: str, run: str) -> str:
    """Return the address of a list of stranded records."""
    return f"{_pages()}/stranded/{quote(group, safe='')}/{quote(run, safe='')}"


def status_of(group: str) -> str:
    """Return the address of a group on the status page, as a mail needs it."""
    return _outside(f"{EVIDENCE_PREFIX}/status#group-{quote(group, safe='')}")


def airflow_path() -> str:
    """Return the path of Airflow's first page. It is not / if Airflow shares its host with others."""
    return f"{urlsplit(_base_url()).path.rstrip('/')}/"


def _outside(path: str) -> str:
    return f"{_base_url().rstrip('/')}{path}"


def _base_url() -> str:
    return _configured(os.environ.get("AIRFLOW__API__BASE_URL"))


@lru_cache(maxsize=2)
def _configured(_environ: str | None) -> str:
    """Return what Airflow's configuration says; a page has a thousand links, and Airflow reads it slowly."""
    return conf.get("api", "base_url", fallback="") or ""


def _pages() -> str:
    return f"{airflow_path().rstrip('/')}{EVIDENCE_PREFIX}"


def login_url(then: str) -> str:
    """Return the address of the login, with any auth manager.

    :param then: the path of the page to return to
    """
    return f"{airflow_path()}api/v2/auth/login?{urlencode({'next': then})}"


class EvidenceLink(BaseOperatorLink):
    """Opens the evidence of the task's run."""

    name = "Evidence"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address of the run's evidence; empty if the task says that none was kept.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        if not getattr(operator, "evidence_kept", True):
            return ""
        group = getattr(operator, "protection_group", None) or ti_key.get_template_context()["params"].get(
            "protection_group"
        )
        run = getattr(operator, "resumed_run", None) or ti_key.run_id
        return evidence_url(group, run) if group else ""


class QuestionLink(BaseOperatorLink):
    """Opens the page that shows the question, and takes the answer."""

    name = "Question"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address of the page; empty if the task says that it asked nobody.

        Airflow calls this in the task's own process when the task parks or has ended, with its instance as the key.
        """
        if not getattr(operator, "evidence_kept", True):
            return ""
        return str(operator.answered_at(ti_key.get_template_context()))


class AuditLink(BaseOperatorLink):
    """Opens the page of an audit."""

    name = "Audit"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address of the report that the task wrote; empty if it has not written one.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        report = getattr(operator, "report_path", "")
        return audit_url(report) if report else ""


class StrandedLink(AuditLink):
    """Opens the list of stranded records."""

    name = "Stranded records"


class ProposedRunLink(BaseOperatorLink):
    """Opens the failover that a task proposed."""

    name = "Proposed run"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address of the run; empty if none was proposed.

        Airflow calls this in the task's own process when the task has ended, with the task instance as the key.
        """
        run = getattr(operator, "proposed_run", "")
        return run_url(operator.trigger_dag_id, run) if run else ""

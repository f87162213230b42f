"""The plugin: what Airflow loads of this project by itself."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from kafka_dr_airflow.links import EVIDENCE_PREFIX, EvidenceLink, status_url


async def evidence_pages(scope: Any, receive: Any, send: Any) -> None:
    """Serve the evidence pages. Every Airflow process loads this file; only the API server needs these imports."""
    from kafka_dr_airflow.views.evidence import app

    await app(scope, receive, send)


class KafkaDrPlugin(AirflowPlugin):
    """Adds the status page to the menu *Browse*, and a button to each task of a verb that opens its evidence."""

    name = "kafka_dr"
    operator_extra_links: ClassVar[list[Any]] = [EvidenceLink()]
    fastapi_apps: ClassVar[list[Any]] = [
        {"name": "Evidence of disaster recovery", "app": evidence_pages, "url_prefix": EVIDENCE_PREFIX}
    ]
    # Below "Browse", because Airflow draws an entry of the first level as a button that leads nowhere. Not in a frame
    # (url_route): a page in a frame is not allowed to lead out of it, and the forms refuse to be framed.
    external_views: ClassVar[list[Any]] = [
        {"name": "DR status", "href": status_url(), "destination": "nav", "category": "browse"}
    ]

"""``/metrics`` for Prometheus, from stored results alone; for who may see the runs of the planned failover."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from fastapi import APIRouter, HTTPException, Response, status

from kafka_dr.errors import KafkaDrError
from kafka_dr.metrics.openmetrics import CONTENT_TYPE
from kafka_dr.metrics.page import metrics_page
from kafka_dr_airflow.topology_file import evidence_root, read_topology

#: It has no dependencies of its own: the app that includes it asks who may see it.
router = APIRouter()


@router.get("/metrics")
def metrics() -> Response:
    """Return what is known of every protection group, as OpenMetrics text.

    Without a readable topology nothing is known, not even the names of the groups: the answer is an error, and
    Prometheus knows the target as down.
    """
    try:
        topology = read_topology(os.environ)
        root = evidence_root(topology.evidence)
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error
    headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(metrics_page(topology, root, datetime.now(UTC)), headers=headers)

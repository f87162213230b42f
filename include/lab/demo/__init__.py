"""One command: datacenters, applications, a failover through Airflow, and a check of the invariants."""

from __future__ import annotations

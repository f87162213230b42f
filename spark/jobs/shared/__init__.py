"""Many audits in one Spark application: each is a process of its own, and all use one Spark session's JVM."""

from __future__ import annotations

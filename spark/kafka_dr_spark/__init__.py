"""What audits do with data: data frames for what is read from Kafka, arrays for what is read from the log."""

from __future__ import annotations

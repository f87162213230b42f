"""The lag audit: how far a flow and the consumer groups of its source are from the end of the log."""

from __future__ import annotations

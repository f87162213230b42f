"""Benchmarks: what the project's work costs beside what everybody knows the cost of, in one run on one machine."""

from __future__ import annotations

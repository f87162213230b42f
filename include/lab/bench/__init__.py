"""Benchmarks: the cost of the project's work next to costs that everybody knows, in one run on one machine."""

from __future__ import annotations

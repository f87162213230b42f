"""Spark applications: arguments, session, what is read and written, exit code."""

from __future__ import annotations

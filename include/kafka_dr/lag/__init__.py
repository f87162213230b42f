"""Lag: how far a flow and the consumer groups are behind, and whether they get on. Rules alone."""

from __future__ import annotations

"""Compares the fingerprints of the two copies of a topic, as NumPy arrays; it knows neither Spark nor a cluster."""

from __future__ import annotations

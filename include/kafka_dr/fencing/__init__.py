"""Fences: which principals can write, which DENYs stop them, and how brokers prove that they are stopped."""

from __future__ import annotations

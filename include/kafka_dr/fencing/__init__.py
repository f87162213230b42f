"""Fences: who can write, how that is stopped, and how it is proven that it has stopped."""

from __future__ import annotations

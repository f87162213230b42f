"""The checksum audit: whether the copy of a flow equals the original, record by record."""

from __future__ import annotations

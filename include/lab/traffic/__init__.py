"""Applications as they are in the world: they write, read, crash, and know nothing of disaster recovery."""

from __future__ import annotations

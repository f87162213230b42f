"""The steps of a planned failover, each a module of ``check``, ``intent``, ``act`` and ``prove``."""

from __future__ import annotations

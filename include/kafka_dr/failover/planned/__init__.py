"""The steps of a planned failover, each a module of ``intent`` and ``act``, most with ``check`` and ``prove``."""

from __future__ import annotations

"""The list of stranded records: what the old cluster holds and was never copied to the active one."""

from __future__ import annotations

"""Gives the wheel the ranges of ``requirements.txt``, so that they are written once. ``pyproject.toml`` names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class RequirementsHook(MetadataHookInterface):
    """Adds the dependencies."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add each line that is no comment."""
        lines = Path(self.root, "requirements.txt").read_text("utf-8").splitlines()
        metadata["dependencies"] = [found for line in lines if (found := line.partition("#")[0].strip())]

"""One lab as its parts see it: its folders, its settings, its passwords."""

from __future__ import annotations

from dataclasses import dataclass

from lab.clusters import Cluster, clusters_of
from lab.credentials import Credentials
from lab.layout import Home, Settings


@dataclass(frozen=True, slots=True)
class LabContext:
    """What every part needs to write its files."""

    home: Home
    settings: Settings
    credentials: Credentials

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters of the lab."""
        return clusters_of(self.settings)

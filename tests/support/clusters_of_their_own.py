"""A lab without Airflow of a test's own, of as many clusters as it wants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.api import Lab


@contextmanager
def clusters_of_their_own(folder: Path, port_base: int, clusters: int) -> Iterator[Lab]:
    """Lend it, with every cluster and its Connect running; nothing of it is left at the end."""
    lab = Lab(folder / "home", port_base=port_base, clusters=clusters)
    try:
        lab.up(airflow=False)
        yield lab
    finally:
        lab.down(delete=True)

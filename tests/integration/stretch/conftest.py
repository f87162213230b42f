"""A cluster over three sites of this folder's own: its tests kill sites, and slow the links between brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from contextlib import ExitStack

    from support.stretched import Stretched

_FOUND: list[Stretched] = []


@pytest.fixture
def stretched(
    tmp_path_factory: pytest.TempPathFactory, own_port_base: int, folder_end: ExitStack
) -> Iterator[Stretched]:
    """Return it, running and whole. It ends with the tests of the folder."""
    from support.stretched import Stretched

    if not _FOUND:
        made = Stretched.prepare(tmp_path_factory.mktemp("stretched") / "home", port_base=own_port_base)
        folder_end.callback(_FOUND.clear)
        folder_end.callback(made.cluster.stop, delete=True)
        made.start()
        _FOUND.append(made)
    yield _FOUND[0]
    _FOUND[0].remove_topics()

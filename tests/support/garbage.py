"""The garbage collector runs between tests, in the thread of the tests, and at no other time.

librdkafka ends the whole process if an admin client is destroyed in its own thread (2.16.1), and Python runs its
collector in whichever thread allocates memory. The core holds its clients so that no collector frees them; a test that
makes one of Kafka's own clients does not.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

#: A collection of everything takes hundredths of a second, one of what is young next to nothing.
_TESTS_TO_A_FULL_COLLECTION = 100
_TESTS = pytest.StashKey[int]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let nothing start a collection but :func:`pytest_runtest_teardown`."""
    session.config.stash[_TESTS] = 0
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep modules and tests, which live as long as the session, out of each collection: they are most of the work."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Collect what a test left."""
    yield
    item.config.stash[_TESTS] += 1
    gc.collect(2 if item.config.stash[_TESTS] % _TESTS_TO_A_FULL_COLLECTION == 0 else 1)

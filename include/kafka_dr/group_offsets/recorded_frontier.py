"""The frontier that a run moves: its digest is in the register before the file has it, so that nobody raises it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta

from kafka_dr import parallel
from kafka_dr.audit.finding import Frontier, Verified
from kafka_dr.audit.kept_frontier import FileFrontierStore, KeptFrontier
from kafka_dr.audit.recorded_input import InputKind, RecordedInput
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.runs.recorded_inputs import record_input
from kafka_dr.runs.run import Run

#: A long comparison is kept now and then: if it is interrupted, the next one continues from there.
_EVERY = timedelta(seconds=20)


class RecordedFrontierStore(FileFrontierStore):
    """Keeps frontiers as files whose digests are recorded; what is not kept yet is kept by :meth:`flush`.

    :param record: journals the digest of a direction's file
    """

    def __init__(
        self, files: FileFrontierStore, *, record: Callable[[str, str], None], now: Callable[[], datetime]
    ) -> None:
        self._files = files
        self._record = record
        self._now = now
        self._pending: dict[str, KeptFrontier] = {}
        self._kept_at = now()

    def read(self, direction: str) -> KeptFrontier | None:
        """Return the frontier as it was written last, kept or not."""
        return self._pending.get(direction) or self._files.read(direction)

    def write(self, direction: str, frontier: KeptFrontier) -> None:
        """Remember the frontier, and keep it if the last time was a while ago."""
        self._pending[direction] = frontier
        if self._now() - self._kept_at >= _EVERY:
            self.flush()

    def flush(self) -> None:
        """Keep what is not kept yet: first its digest, then the file.

        :raises KafkaDrError: the register did not take the digest; then the file stays as it was
        """
        for direction in tuple(self._pending):
            frontier = self._pending[direction]
            if frontier != self._files.read(direction):
                self._record(direction, hashlib.sha256(self._files.encoded(direction, frontier)).hexdigest())
                self._files.write(direction, frontier)
            del self._pending[direction]
        self._kept_at = self._now()


class RecordedFrontier:
    """Compares, and keeps how far it got, also if comparing ends in an error."""

    def __init__(self, inner: Frontier, store: RecordedFrontierStore) -> None:
        self._inner = inner
        self._store = store
        self._kept_by_caller = False

    def advance(self, until: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Verified]:
        """Compare further; see :class:`~kafka_dr.audit.Frontier`."""
        with nullcontext() if self._kept_by_caller else self.kept_once():
            return self._inner.advance(until)

    @contextmanager
    def kept_once(self) -> Iterator[None]:
        """Keep at the end of the block how far all comparisons in it got, and before that only now and then.

        For a caller that compares again and again while applications wait: each keeping writes to both registers.
        """
        self._kept_by_caller = True
        try:
            yield
        finally:
            self._kept_by_caller = False
            self._store.flush()


def recorded_store(run: Run) -> RecordedFrontierStore:
    """Return where a run keeps its frontier."""
    files = FileFrontierStore(run.evidence_root, run.group.name)
    return RecordedFrontierStore(files, record=lambda *about: _record(run, *about), now=run.clock.now)


def _record(run: Run, direction: str, sha256: str) -> None:
    what, held = RecordedInput(InputKind.FRONTIER, run.group.name, direction), ""
    with suppress(OSError):
        held = what.sha256(run.evidence_root)

    def write(cluster: str) -> None:
        record_input(run.clients.register(cluster), what, sha256, at=run.clock.now(), held=held)

    for answer in parallel.ask_each(write, run.records_inputs).values():
        if isinstance(answer, KafkaDrError):
            raise answer

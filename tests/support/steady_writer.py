"""An application of a test that writes to the active cluster all the time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka_dr.errors import KafkaDrError
from support.protection import Protection


@dataclass
class SteadyWriter:
    """An application that writes all the time."""

    protection: Protection
    acknowledged: int = 0
    error: KafkaDrError | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        try:
            while not self.stopped.wait(0.05):
                self.acknowledged += self.protection.produce("east", 10)
        except KafkaDrError as error:
            self.error = error


@contextmanager
def writing(protection: Protection) -> Iterator[SteadyWriter]:
    writer = SteadyWriter(protection)
    thread = threading.Thread(target=writer.write)
    thread.start()
    try:
        yield writer
    finally:
        writer.stopped.set()
        thread.join()
    assert writer.error is None, writer.error
    assert writer.acknowledged

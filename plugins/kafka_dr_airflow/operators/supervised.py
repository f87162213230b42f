"""A task process ends when Airflow's supervisor of it does.

Nobody would hear from it any more: its log, its result and Airflow's connections all go through the supervisor. Airflow
only notices that no heartbeat arrives, and then tries the task again or rolls back. Until then a process that waits
would continue by itself, perhaps on a host that somebody believes to be empty.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients

_log = logging.getLogger(__name__)

#: With the second in which nothing more is begun, a process ends within two.
_LOOK_SECONDS = 0.5
#: What a person sees in the list of processes that ended, if anybody kept it.
_ENDED = 1


@contextmanager
def ends_with_supervisor(
    clients: Clients,
    *,
    parent: Callable[[], int] = os.getppid,
    end: Callable[[int], object] = os._exit,
    look_seconds: float = _LOOK_SECONDS,
) -> Iterator[None]:
    """End this process as soon as its supervisor is gone, whatever it waits for, as long as the block lasts.

    Before that the registers of the runs that it took say that it has ended, so that another one may continue at once.
    A supervisor that is gone before the block begins cannot be asked for connections, so nothing is changed then.

    :param parent: the id of the process that started this one; another one if that is gone
    :param end: ends this process at once, also while other threads wait
    """
    over, supervisor = Event(), parent()

    def watch() -> None:
        from kafka_dr.runs.signs_of_life import leave

        while not over.wait(look_seconds):
            if parent() != supervisor:
                try:
                    leave(clients)
                except Exception as error:  # noqa: BLE001 - whatever it is, this process ends
                    _log.warning("No register says that this process ends, because: %s", error)
                finally:
                    end(_ENDED)
                return

    Thread(target=watch, name="supervisor", daemon=True).start()
    try:
        yield
    finally:
        over.set()

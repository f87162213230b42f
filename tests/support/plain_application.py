"""The answers that an application of the lab gets, and what both logs hold; shares no code with the steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import psutil
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from lab import rights
from lab.api import Lab
from lab.credentials import ADMIN
from support.airflow_lab import QuickLab

TOPIC = "orders.payments"
_INVOICES = "orders.invoices"
_SECONDS = 30.0
#: From an approval to the fence: five processes start one after the other, on a machine that runs other labs, too.
_FENCED_SECONDS = 240.0
#: Shorter than an open transaction holds a switch up.
_ENDS_SECONDS = 20.0


def refusal(lab: Lab, cluster: str) -> str | None:
    """Write a record as an application, and return the name of the error; ``None`` if the record was taken."""
    told: list[KafkaError | None] = []
    producer = Producer(
        {**lab.client_settings(cluster, rights.ORDERS_APP), "message.timeout.ms": 20000, "log_level": 0}
    )
    producer.produce(TOPIC, b"an order", partition=0, on_delivery=lambda error, _: told.append(error))
    producer.flush(_SECONDS)
    assert told, f"{cluster} says nothing to a write within {_SECONDS} s"
    return None if told[0] is None else str(told[0].name())


def wait_equal(lab: Lab) -> None:
    """Wait until both clusters hold the same records in the same order."""
    deadline = time.monotonic() + _SECONDS
    while (east := _values(lab, "east")) != (west := _values(lab, "west")):
        assert time.monotonic() < deadline, f"east holds {len(east)} records, west {len(west)}, and they differ"
        time.sleep(0.2)


def assert_works_only_on(lab: QuickLab, group: str, active: str) -> None:
    """The group is stable there: applications write there and nowhere else, and what they write is copied."""
    standby = "west" if active == "east" else "east"
    state, copied = (lab.state(cluster, group) for cluster in (active, standby))
    assert state is not None, f"{active} knows nothing of {group}"
    assert (state.phase, state.active) == ("stable", active), f"{group} is to be stable on {active}: {state}"
    assert copied == state, f"{active} says {state}, {standby} says {copied}"
    assert (told := refusal(lab, active)) is None, f"{active} refuses an application: {told}"
    assert (told := refusal(lab, standby)) == "TOPIC_AUTHORIZATION_FAILED", f"{standby} says {told} to an application"
    wait_equal(lab)


@contextmanager
def above_all_fences(lab: Lab, cluster: str) -> Iterator[None]:
    """Write for a while as a super user, which no DENY stops."""
    over = Event()
    producer = _producer(lab, cluster, ADMIN)

    def write() -> None:
        while not over.wait(0.05):
            producer.produce(TOPIC, b"an order that nobody could stop", partition=0)
            producer.poll(0)

    writer = Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join(_SECONDS)
        assert not producer.flush(_SECONDS), "records of the super user are still on their way"


@contextmanager
def open_transaction(lab: Lab, cluster: str) -> Iterator[None]:
    """Leave a transaction open for a while: a fence waits its grace for it."""
    settings = {**lab.client_settings(cluster, rights.BILLING_APP), "log_level": 0}
    producer = Producer({**settings, "transactional.id": "billing-held-up", "transaction.timeout.ms": 60_000})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    producer.produce(_INVOICES, b"an invoice that is not sent yet", partition=0)
    assert not producer.flush(_SECONDS), f"{cluster} does not take a record of a transaction"
    try:
        yield
    finally:
        # The grace may be over by now, and the transaction ended by the fence.
        with suppress(KafkaException):
            producer.abort_transaction(_SECONDS)


def wait_refused(lab: Lab, cluster: str) -> None:
    """Wait until an application may no longer write."""
    deadline = time.monotonic() + _FENCED_SECONDS
    while refusal(lab, cluster) != "TOPIC_AUTHORIZATION_FAILED":
        assert time.monotonic() < deadline, f"{cluster} takes writes still"


def executor(lab: QuickLab, cluster: str, group: str) -> psutil.Process:
    """Return the process that took the run of a group; its name in the register holds its id."""
    state = lab.state(cluster, group)
    assert state is not None, f"{cluster} knows nothing of {group}"
    assert state.executor, f"no process took {state}"
    return psutil.Process(int(state.executor.split(":")[1]))


def assert_ends_itself(lab: QuickLab, cluster: str, group: str, task: psutil.Process) -> None:
    """The process that executes the run of a group ends while a transaction holds it up, and says so in the register.

    :param cluster: whose register decides
    """
    state = lab.state(cluster, group)
    assert state is not None, f"{cluster} knows nothing of {group}"
    assert_gone(task, seconds=_ENDS_SECONDS)
    said = lab.facts(cluster, group, str(state.run)).get("alive")
    assert said is not None, f"{task} did not say that it ended"
    assert (said["attempt"], said["ended"]) == (state.attempt, True), said


def assert_gone(process: psutil.Process, *, seconds: float) -> None:
    """A process has ended, or does so in time."""
    deadline = time.monotonic() + seconds
    with suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, f"{process} still runs after {seconds:g} s"
            time.sleep(0.1)


def _producer(lab: Lab, cluster: str, principal: str) -> Producer:
    return Producer({**lab.client_settings(cluster, principal), "message.timeout.ms": 20000, "log_level": 0})


def _values(lab: Lab, cluster: str) -> list[bytes]:
    partition = TopicPartition(TOPIC, 0, 0)
    reader = Consumer(
        {
            **lab.client_settings(cluster, ADMIN),
            "group.id": "onlooker",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    reader.assign([partition])
    values: list[bytes] = []
    try:
        while (message := reader.poll(_SECONDS)) is not None:
            if message.error() is None:
                values.append(message.value())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                return values
            else:
                raise KafkaException(message.error())
        raise AssertionError(f"{cluster} does not answer a reader within {_SECONDS} s")
    finally:
        reader.close()

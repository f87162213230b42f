"""Admin clients are kept until their owner is gone, and no longer."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Mapping
from weakref import ref

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from kafka_dr.clusters import ClientSettings
from kafka_dr.clusters.admin_clients import ADMIN_CLIENTS
from kafka_dr.clusters.session import ClusterSession

NOBODY = ClientSettings("127.0.0.1:1")
#: The code before and after the garbage: the client's own thread delivers an answer and runs the garbage collector.
ASKED = """
import gc, threading
from confluent_kafka import TopicCollection
from kafka_dr.clusters import ClientSettings
from kafka_dr.clusters.session import ClusterSession

session = ClusterSession("east", ClientSettings("127.0.0.1:1"))
answered = threading.Event()
asked = session.admin.describe_topics(TopicCollection(["orders"]), request_timeout=0.5)
asked["orders"].add_done_callback(lambda _: (gc.collect(), answered.set()))
"""
FORGOTTEN = "session.itself = session; del session"
CLOSED = "around = [session.admin]; around.append(around); session.close(); del around"
ANSWERED = "assert answered.wait(20)"


def held() -> list[AdminClient]:
    return ADMIN_CLIENTS.held()


@pytest.mark.parametrize("garbage", [FORGOTTEN, CLOSED], ids=["forgotten", "closed, and still referred to"])
def test_a_client_is_not_destroyed_by_its_own_thread_which_would_end_the_process(garbage: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "\n".join((ASKED, garbage, ANSWERED))],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_client_is_destroyed_once_nothing_refers_to_it() -> None:
    session = ClusterSession("east", NOBODY)
    used = session.admin
    session.close()
    assert used in held()

    whose = ref(used)
    del used
    session.close()
    assert whose() is None


def test_a_closed_session_keeps_no_client_and_an_unclosed_one_only_until_the_next_is_made() -> None:
    closed, forgotten = ClusterSession("east", NOBODY), ClusterSession("west", NOBODY)
    of_closed, of_forgotten = ref(closed.admin), ref(forgotten.admin)
    closed.close()
    assert of_closed() is None

    gone = ref(forgotten)
    del forgotten
    gc.collect()
    assert gone() is None
    assert of_forgotten() is not None
    another = ClusterSession("east", NOBODY)
    assert another.admin in held()
    assert of_forgotten() is None
    another.close()


def test_no_collection_destroys_a_client_of_a_test_in_the_clients_own_thread() -> None:
    assert not gc.isenabled(), "tests/support/garbage.py collects between tests"


def test_a_reader_is_connected_ahead_only_while_every_other_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    session, made = ClusterSession("east", NOBODY), list[Consumer]()
    consumer = session.consumer

    def counted(extra: Mapping[str, object]) -> Consumer:
        made.append(consumer(extra))
        return made[-1]

    monkeypatch.setattr(session, "consumer", counted)
    session.connect_reader("read_committed")
    session.connect_reader("read_committed")
    assert len(made) == 1
    with session.reader("read_committed", (), short=True) as used:
        assert used is made[0]
        session.connect_reader("read_committed")
        assert len(made) == 2
    session.close()

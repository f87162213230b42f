"""Admin clients outlive whoever forgets them, and no longer than that."""

from __future__ import annotations

import gc
import subprocess
import sys
from weakref import ref

from confluent_kafka.admin import AdminClient

from kafka_dr.clusters import ClientSettings
from kafka_dr.clusters.admins import ADMIN_CLIENTS
from kafka_dr.clusters.session import ClusterSession

NOBODY = ClientSettings("127.0.0.1:1")
#: A session that is garbage while its client's own thread tells of an answer, and collects.
FORGOTTEN = """
import gc, threading
from confluent_kafka import TopicCollection
from kafka_dr.clusters import ClientSettings
from kafka_dr.clusters.session import ClusterSession

session = ClusterSession("east", ClientSettings("127.0.0.1:1"))
session.itself = session
told = threading.Event()
asked = session.admin.describe_topics(TopicCollection(["orders"]), request_timeout=0.2)
asked["orders"].add_done_callback(lambda _: (gc.collect(), told.set()))
del session
assert told.wait(20)
"""


def held() -> list[AdminClient]:
    return [client for _, client in ADMIN_CLIENTS._held]


def test_a_forgotten_client_is_not_destroyed_by_its_own_thread_which_would_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORGOTTEN],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_session_that_is_closed_keeps_no_client_and_one_that_is_forgotten_only_until_the_next_is_made() -> None:
    closed, forgotten = ClusterSession("east", NOBODY), ClusterSession("west", NOBODY)
    of_closed, of_forgotten = closed.admin, forgotten.admin
    closed.replace_admin()
    newer = closed.admin
    closed.close()
    assert of_closed not in held()
    assert newer not in held()
    assert of_forgotten in held()

    gone = ref(forgotten)
    del forgotten
    gc.collect()
    assert gone() is None
    another = ClusterSession("east", NOBODY)
    assert another.admin in held()
    assert of_forgotten not in held()
    another.close()

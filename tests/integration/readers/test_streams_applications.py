"""Real applications of Kafka Streams, of both protocols: recognised with their topics, and moved with their state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clusters import ResourceType
from kafka_dr.group_offsets import left_to_do, unmovable_groups
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.readers import GroupsPolicy
from support.protection import Protection
from support.switched_group import SwitchedGroup
from support.word_count import INPUT, OUTPUT, counting, counts, write_words

pytestmark = [pytest.mark.kafka, pytest.mark.long]
_SECONDS = 90


@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_an_application_counts_on_where_it_was_frozen(protection: Protection, tmp_path: Path, protocol: str) -> None:
    application = f"{protection.name}-totals"
    _own_the_examples_topics(protection)
    group = SwitchedGroup.adopt(protection, records=0)
    write_words(protection, "east", "lost found", 3)
    with counting(protection.lab, "east", application, tmp_path / "east", protocol=protocol):
        wait_until(lambda: counts(protection, "east") == {"lost": 3, "found": 3})
        with protection.clients() as clients:
            refused = unmovable_groups.look(Run(protection.request("look"), clients), "east", "west")
    (seen,) = refused.streams
    assert seen.state == "refused"
    assert seen.application.own_protocol is (protocol == "streams")
    assert seen.application.inputs == (INPUT,)
    assert len(seen.application.internal) == 2, seen.application
    assert all(topic.startswith(f"{application}-") for topic in seen.application.internal)
    assert seen.not_copied == ()

    protection.changes["groups_policy"] = GroupsPolicy(streams_moved=(application,))
    wait_until(lambda: _is_copied(group))
    with protection.clients() as clients:
        run = Run(protection.request("look"), clients)
        accepted = unmovable_groups.look(run, "east", "west")
        assert [row["command"] for row in left_to_do.of_now(run, accepted)] == [""], "it is not to be reset"
    assert unmovable_groups.judged(accepted).outcome == "excused"
    group.go(StepName.REPORT)
    assert group.committed("west", application), "its offsets are on the other cluster"
    write_words(protection, "west", "found", 2)
    with counting(protection.lab, "west", application, tmp_path / "west", protocol=protocol):
        wait_until(lambda: counts(protection, "west").get("found") == 5)
    assert counts(protection, "west") == {"lost": 3, "found": 5}, "a word was counted twice, or from nothing"


def _own_the_examples_topics(protection: Protection) -> None:
    """Give the group the example's topics, and the principals the same rights on them as on its own."""
    extra = (INPUT, OUTPUT)
    protection.changes["topics"] = extra
    protection.changes["topic_prefixes"] = (f"{protection.name}.", f"{protection.name}-")
    for cluster in protection.lab.settings.names:
        of_topics = [acl for acl in protection._acls(cluster) if acl.resource is ResourceType.TOPIC]
        with protection.cluster(cluster, "admin") as admin:
            # What the group of another test was fenced by: its topics had the same names.
            admin.acls.remove([acl for acl in admin.acls.list() if acl.name in extra])
            names = (*extra, f"{protection.name}-")
            admin.acls.add([replace(acl, name=name) for acl in of_topics for name in names])
            admin.topics.delete([*extra])
            wait_until(lambda admin=admin: not {*extra} & admin.topics.names())  # type: ignore[misc]
            for name in extra:
                admin.topics.create(name, partitions=1, replication_factor=1, config={})


def _is_copied(group: SwitchedGroup) -> bool:
    east, west = (group.protection.cluster(cluster, "admin") for cluster in ("east", "west"))
    with east, west:
        prefix = f"{group.name}-"
        here = {name for name in east.topics.names() if name.startswith(prefix)}
        return bool(here) and here <= west.topics.names()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not so after {_SECONDS} s"
        time.sleep(0.5)

"""Real readers of every kind, seen by who may only look: each one is in the reports as what it is, and none is good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from jobs.lag.groups import SeenGroups, seen_groups
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.model import GroupState
from kafka_dr.errors import KafkaDrError
from kafka_dr.naming import DefaultNaming
from kafka_dr.waiting import wait_until
from lab import rights
from lab.api import Lab
from support.observed_twins import observed_flow
from support.others_copy import Content, OthersCopy
from support.share_group import join_share_group
from support.word_count import INPUT, OUTPUT, counting

pytestmark = pytest.mark.kafka


@dataclass(frozen=True, slots=True)
class Company:
    """A copy that is equal, with a consumer group at its exact position, and a share group.

    Its Kafka Streams applications have names that begin like the topics that the observer may see. It may not see what
    they read.
    """

    copy: OthersCopy

    @property
    def ledger(self) -> str:
        """A consumer group with an exact position."""
        return f"orders-{self.copy.alias}-ledger"

    @property
    def workers(self) -> str:
        """The share group."""
        return f"orders-{self.copy.alias}-workers"

    @property
    def classic(self) -> str:
        """The application of the classic protocol."""
        return f"orders.{self.copy.alias}-classic"

    @property
    def newer(self) -> str:
        """The application of Kafka Streams' own protocol."""
        return f"orders.{self.copy.alias}-newer"

    @property
    def input_right(self) -> Acl:
        """What lets the observer see what the applications read."""
        who = f"User:{rights.AUDIT}"
        return Acl(ResourceType.TOPIC, INPUT, PatternType.LITERAL, who, AclOperation.DESCRIBE, AclPermission.ALLOW)

    def report(self) -> tuple[int, dict[str, Any]]:
        """Look, by the command."""
        prefixes = [f"orders-{self.copy.alias}-", f"orders.{self.copy.alias}-"]
        said = self.copy.run("observe", "theirs", "--json", consumer_group_prefixes=prefixes)
        assert said.out, said.err
        return said.code, said.json

    def lag(self) -> SeenGroups:
        """Return what a lag audit would measure."""
        flow = replace(
            observed_flow(DefaultNaming(self.copy.alias, "west"), topics=(self.copy.topic, INPUT)),
            covers_group=lambda name: self.copy.alias in name,
        )
        with self.copy.cluster("east") as source:
            return seen_groups(flow, source)

    def is_running(self) -> bool:
        """Whether both applications have joined and made their topics, and every group is known."""
        with self.copy.cluster("east", "admin") as admin:
            made = [name for name in admin.topics.names() if name.endswith("-changelog")]
            if not all(any(name.startswith(f"{each}-") for name in made) for each in (self.classic, self.newer)):
                return False
            states = admin.group_reading.states([self.classic, self.newer]).values()
            return all(isinstance(each, GroupState) and each.state == "STABLE" and each.members for each in states)


@pytest.fixture
def company(lab: Lab, tmp_path: Path) -> Company:
    made = Company(OthersCopy(lab, tmp_path))
    copy = made.copy
    remote = f"{copy.alias}.{copy.topic}"
    for cluster, topic in (("east", copy.topic), ("west", remote)):
        copy.create(cluster, topic)
        copy.write(cluster, topic, [Content(f"record {n}") for n in range(10)])
    copy.create("west", copy.checkpoints)
    copy.allow()
    copy.commit("east", made.ledger, copy.topic, {0: 10})
    copy.commit("west", made.ledger, remote, {0: 10})
    with copy.cluster("east", "admin") as admin:
        join_share_group(
            lab,
            "east",
            made.workers,
            topic=copy.topic,
            folder=tmp_path,
            is_known=lambda: admin.group_reading.shared([made.workers])[made.workers] == frozenset({copy.topic}),
        )
    return made


@pytest.fixture
def applications(lab: Lab, company: Company, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Run both, and return their names."""
    with company.copy.cluster("east", "admin") as admin:
        for topic in {INPUT, OUTPUT} - admin.topics.names():
            company.copy.create("east", topic)
    with (
        counting(lab, "east", company.classic, tmp_path / "classic", protocol="classic"),
        counting(lab, "east", company.newer, tmp_path / "newer", protocol="streams"),
    ):
        wait_until(company.is_running, bool, clock=SystemClock(), seconds=90, retry=KafkaDrError)
        yield company.classic, company.newer


@pytest.mark.long
def test_a_share_group_is_in_both_reports_and_not_good(company: Company) -> None:
    code, report = company.report()
    measured = company.lag()

    # The copy is equal and the one consumer group is where it should be: without the share group this would be green.
    assert (code, report["verdict"], report["not_looked_at"]) == (3, "unknown", [])
    assert {row["group"]: (row["kind"], row["verdict"]) for row in report["groups"]} == {
        company.ledger: ("consumer group", "ok"),
        company.workers: ("share group", "unknown"),
    }
    (reader,) = report["readers"]
    assert "then start them on west" in reader["to_do"]
    assert f"{company.workers} (share group)" in report["sentence"]
    assert [each.group for each in measured.seen] == [company.ledger]
    assert [(each.group, each.kind, each.no_reader) for each in measured.unjudged] == [
        (company.workers, "share group", False)
    ]


@pytest.mark.long
def test_applications_are_recognised_and_what_may_not_be_seen_of_them_is_said(
    company: Company, applications: tuple[str, str]
) -> None:
    _, hidden = company.report()
    with company.copy.cluster("east", "admin") as admin:
        admin.acls.add([company.input_right])
        try:
            code, report = wait_until(
                company.report, lambda each: not each[1]["not_looked_at"], clock=SystemClock(), seconds=30
            )
        finally:
            admin.acls.remove([company.input_right])
    measured = company.lag()

    (said,) = hidden["not_looked_at"]
    assert said.startswith(f"which topics the Kafka Streams application {company.newer} has was not looked at: ")
    assert (code, report["verdict"]) == (3, "unknown")
    readers = {row["group"]: row for row in report["readers"]}
    assert readers.keys() == {company.workers, *applications} == {row["group"] for row in hidden["readers"]}
    for name in applications:
        assert (readers[name]["kind"], readers[name]["verdict"]) == ("Kafka Streams application", "unknown")
        assert readers[name]["internal_topics"].startswith(f"{name}-")
        assert "run its reset command, and delete its state.dir" in readers[name]["to_do"]
    assert readers[company.classic]["shown_by"] == "the assignor of its members shows it"
    named = {each.group for each in measured.seen} | {each.group for each in measured.unjudged}
    assert named == {company.ledger, *readers}
    assert measured.refused == {}

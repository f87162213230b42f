"""An offset past a record that its group has not read is never committed, however it was found."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from kafka_dr.offsets.translate.answers import TranslatedOffset, translations_to_json
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import run_step
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def test_a_position_past_an_unread_record_is_refused_and_nothing_is_committed(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.STOP_FLOW)
    name, first = f"{group.name}-head", min(group.at(0))
    too_far = TranslatedOffset(1, 2, "exact", 0, "one too far", proof="late", group=name, partition=first)
    before = group.committed(target, name)

    with group.protection.clients() as clients:
        Run(request, clients).write_fact("translations", translations_to_json([too_far]))
        record = failed(StepName.CUT_OVER_GROUPS, request, clients)

    assert record.outcome == "failed"
    assert (
        f"1 offset would be past an unread record ({name} {first} 1→2), expected none: nothing was committed"
        in record.detail
    )
    assert group.committed(target, name) == before
    group.roll_back(request)
    group.assert_at_rest(source)


def test_a_target_that_lost_what_a_group_has_not_read_after_the_cut_over_is_not_opened(
    own_group: SwitchedGroup,
) -> None:
    """With a group of its own: what was deleted is missing on the target from now on."""
    group = own_group
    request = group.go(StepName.CUT_OVER_GROUPS)
    slow, first = f"{group.name}-slow", min(group.at(0))
    begins = group.committed("west", slow)[first]
    with AdminClient(group.protection.lab.client_settings("west", "admin")) as admin:
        for deleted in admin.delete_records([ClientPartition(first.topic, first.partition, begins + 1)]).values():
            deleted.result(60)

    with group.protection.clients() as clients:
        record = failed(StepName.OPEN_TARGET, request, clients)

    assert record.outcome == "refused"
    assert f"unread_is_held: {slow} {first} {begins} is before the log start {begins + 1}" in record.detail
    assert group.protection.refuses_writes("west")
    group.roll_back(request)
    assert group.is_at_rest()
    assert group.protection.takes_writes("east")


def test_a_head_that_no_group_had_left_to_read_and_that_is_deleted_after_the_cut_over_is_named(
    own_group: SwitchedGroup,
) -> None:
    group = own_group
    request = group.go(StepName.CUT_OVER_GROUPS)
    first = min(group.at(0))
    least = group.committed("west", f"{group.name}-slow")[first]
    assert least > 0
    with AdminClient(group.protection.lab.client_settings("west", "admin")) as admin:
        for deleted in admin.delete_records([ClientPartition(first.topic, first.partition, least)]).values():
            deleted.result(60)

    with group.protection.clients() as clients:
        record = run_step(StepName.OPEN_TARGET, request, clients)

    (check,) = (each for each in record.checks if each.name == "unread_is_held")
    assert check.outcome == "warning"
    assert f"{first} at {least} instead of 0" in check.detail

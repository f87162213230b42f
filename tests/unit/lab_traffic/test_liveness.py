"""A reader that hears nothing asks whether its cluster is still there."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from lab.traffic.application import SILENCE_SECONDS, Ended, LivenessCheck


def nobody_answers() -> None:
    raise KafkaException(KafkaError(KafkaError._TRANSPORT))


def test_a_reader_of_a_dead_cluster_ends_so_that_it_can_follow_the_route() -> None:
    moments = iter([0.0, 1.0, SILENCE_SECONDS + 1])
    presence = LivenessCheck(nobody_answers, now=lambda: next(moments))
    presence.heard(False)
    with pytest.raises(Ended, match="_TRANSPORT"):
        presence.heard(False)


def test_a_reader_with_nothing_to_read_continues() -> None:
    asked: list[bool] = []
    moments = iter([0.0, SILENCE_SECONDS + 1, SILENCE_SECONDS + 2, SILENCE_SECONDS + 3])
    presence = LivenessCheck(lambda: asked.append(True), now=lambda: next(moments))
    presence.heard(False)
    presence.heard(False)
    assert len(asked) == 1

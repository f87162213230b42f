from __future__ import annotations

from confluent_kafka import Uuid

from kafka_dr.clusters.topics import topic_id


def test_a_topics_id_is_written_as_kafkas_own_tools_write_it() -> None:
    """In librdkafka's alphabet one id in three contains a slash, which a path would take for a folder."""
    assert topic_id(Uuid(-1, -1)) == "_____________________w"
    assert topic_id(Uuid(-5764607523034234881, -288230376151711744)) == "r__________8AAAAAAAAAA"

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.connections import SETTING, JobConnections
from kafka_dr.errors import Refused

_KAFKA = {
    "bootstrap.servers": "east:9092",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "audit",
    "sasl.password": "s3cret-word",
}


def written(folder: Path, content: object, mode: int = 0o600) -> dict[str, str]:
    path = folder / "connections.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return {SETTING: str(path)}


def test_a_connection_is_found_by_its_id(tmp_path: Path) -> None:
    environ = written(tmp_path, {"kafka_east_audit": _KAFKA})
    connections = JobConnections.read(environ)
    assert connections.kafka("kafka_east_audit").librdkafka() == _KAFKA
    assert "kafka_east_audit" in connections
    assert "s3cret-word" not in repr(connections)


@pytest.mark.parametrize("extra", [_KAFKA, json.dumps(_KAFKA)], ids=["as proposed", "as exported"])
def test_the_file_of_the_command_line_is_read_as_well(tmp_path: Path, extra: object) -> None:
    stored = {"conn_type": "kafka", "port": 0, "extra": extra}
    connections = JobConnections.read(written(tmp_path, {"kafka_east_audit": stored}))
    assert connections.kafka("kafka_east_audit").librdkafka() == _KAFKA


@pytest.mark.parametrize("extra", ["s3cret-word", "[]", ["s3cret-word"]])
def test_an_extra_of_another_form_is_refused_and_not_quoted(tmp_path: Path, extra: object) -> None:
    connections = JobConnections.read(written(tmp_path, {"kafka_east_audit": {"extra": extra}}))
    with pytest.raises(Refused, match="is not a JSON object") as refused:
        connections.kafka("kafka_east_audit")
    assert "s3cret-word" not in str(refused.value)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_file_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(Refused, match="chmod 600"):
        JobConnections.read(written(tmp_path, {}, mode))


@pytest.mark.parametrize("content", ["{", "[]", '{"kafka_east_audit": "s3cret-word"}'])
def test_a_file_of_another_form_is_refused_and_not_quoted(tmp_path: Path, content: str) -> None:
    with pytest.raises(Refused, match="write an object") as refused:
        JobConnections.read(written(tmp_path, content))
    assert "s3cret-word" not in str(refused.value)


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    connections = JobConnections.read(written(tmp_path, {"kafka_east_audit": _KAFKA}))
    with pytest.raises(Refused, match="no connection 'kafka_west_audit': it has kafka_east_audit"):
        connections.kafka("kafka_west_audit")


def test_no_file_at_all_is_refused() -> None:
    with pytest.raises(Refused, match=f"{SETTING} is not set"):
        JobConnections.read({})
    with pytest.raises(Refused, match="cannot be read"):
        JobConnections.read({SETTING: "/nowhere/at/all.json"})

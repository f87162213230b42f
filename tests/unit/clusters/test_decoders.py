"""The decoder of a response that two clients of this process receive for the first time, at the same moment."""

from __future__ import annotations

from threading import Event, Thread, current_thread
from typing import Any

import pytest
from kafka.protocol.admin import DescribeLogDirsResponse
from kafka.protocol.schemas.fields import struct

from kafka_dr.clusters import protocol_client

#: How long one thread waits for the other, in seconds. Where they take turns, it waits in vain.
_SECONDS = 0.5


def test_a_response_that_two_threads_meet_for_the_first_time_at_once_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second thread begins while the first one is at work, and continues when the first one has ended."""
    assert protocol_client
    response, version = DescribeLogDirsResponse, DescribeLogDirsResponse.max_version
    began, ended = Event(), Event()

    def make() -> None:
        flexible = response.flexible_version_q(version)
        response._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=response)

    class OfTheSecond(struct.CodegenContext):  # type: ignore[misc]  # it comes without types
        def __init__(self) -> None:
            super().__init__()
            if current_thread() is second:
                began.set()
                ended.wait(10)

    def emit(self: Any, *args: Any, **options: Any) -> None:
        emit_all(self, *args, **options)
        if self is response._struct and current_thread() is first:
            second.start()
            began.wait(_SECONDS)

    def make_and_end() -> None:
        make()
        ended.set()

    first, second = Thread(target=make_and_end), Thread(target=make)
    emit_all = struct.StructField.emit_decode_from
    monkeypatch.setattr(response._struct, "_compiled_encoders", {})
    monkeypatch.setattr(struct, "CodegenContext", OfTheSecond)
    monkeypatch.setattr(struct.StructField, "emit_decode_from", emit)
    first.start()
    first.join()
    second.join()

    sent = response(version=version, throttle_time_ms=7, results=[])
    assert response.decode(sent.encode(version=version), version=version).throttle_time_ms == 7

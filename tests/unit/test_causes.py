"""What errors are called in sentences: in plain words, without a word of Python, of a library or of Java."""

from __future__ import annotations

import base64
import errno
import json
import logging
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet
import pytest
import yaml

from kafka_dr.causes import cause, java_cause, mistake
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.http_endpoint import unanswered

#: A class, an error number, a path of a module, or a value in capitals.
LIBRARY = re.compile(
    r"\[Errno|\b[A-Z]\w*(?:Error|Exception)\b|\b[a-z]+\.[a-z]+\.\w+|\b_?[A-Z]+_[A-Z_]+\b|object at 0x|<class"
)


class Mood(Enum):
    STABLE = "stable"


def raised(fail: Callable[[], object]) -> Exception:
    try:
        fail()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked at
        return error
    raise AssertionError("nothing was raised")


def _closed_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _parquet(folder: Path) -> object:
    (folder / "cut").write_bytes(b"PAR1 and no end")
    return pyarrow.parquet.read_table(folder / "cut")


EMPTY: dict[str, Any] = {}
REAL: dict[str, tuple[Callable[[], object], str]] = {
    "no file": (lambda: Path("/nowhere/x").read_bytes(), "there is no such file or folder"),
    "a folder": (lambda: Path("/").read_bytes(), "it is a folder, and a file was expected"),
    "no folder": (lambda: Path("/etc/hostname/x").read_bytes(), "a part of the path is not a folder"),
    "no listener": (lambda: socket.create_connection(("127.0.0.1", _closed_port()), 5), "nothing listens at that"),
    "no host": (lambda: socket.getaddrinfo("no-such-host.invalid", 1), "the host name is unknown here"),
    "no JSON": (lambda: json.loads('{"a": 1,\n oops'), "it is not JSON (line 2, column 2)"),
    "no UTF-8": (lambda: b"\xff".decode(), "it is not text in UTF-8"),
    "no Base64": (lambda: base64.b64decode("a", validate=True), "it is not encoded in Base64"),
    "no key": (lambda: EMPTY["phase"], "'phase' is missing"),
    "no number": (lambda: int("many"), "'many' is not a whole number"),
    "no decimal": (lambda: float("many"), "'many' is not a number"),
    "no time": (lambda: datetime.fromisoformat("noon"), "'noon' is not a time"),
    "no choice": (lambda: Mood("odd"), "'odd' is none of the values that are known"),
    "no such part": (lambda: ["a"][3], "a part of it is missing"),
    "another kind": (lambda: len(3), "a part of it is of another kind than expected"),  # type: ignore[arg-type]
    "too slow": (lambda: subprocess.run(["/bin/sleep", "5"], timeout=0.01, check=False), "it did not end in time"),
    "no TLS": (lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata="x"), "TLS could not be"),
}  # fmt: skip


@pytest.mark.parametrize("case", REAL)
def test_a_real_error_is_called_in_plain_words_and_the_log_has_the_librarys(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    fail, words = REAL[case]
    error = raised(fail)
    with caplog.at_level(logging.INFO):
        said = cause(error)
    assert said.startswith(words)
    assert not LIBRARY.search(said)
    assert repr(error) in caplog.text


def test_a_file_that_was_not_written_to_its_end_is_no_riddle(tmp_path: Path) -> None:
    assert cause(raised(lambda: _parquet(tmp_path))) == "it is no Parquet file, or was not written to its end"


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_each_error_of_the_operating_system_has_words(number: int) -> None:
    said = cause(OSError(number, os.strerror(number), "/some/path"))
    assert said
    assert not LIBRARY.search(said)
    assert "/some/path" not in said


def _all_of(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(found for each in kind.__subclasses__() for found in _all_of(each))]


BUILTIN = [each for each in _all_of(Exception) if each.__module__ in ("builtins", "json.decoder")]
BUILTIN.remove(ExceptionGroup)


@pytest.mark.parametrize("kind", [*BUILTIN, yaml.YAMLError, httpx.HTTPError], ids=lambda kind: kind.__name__)
def test_no_kind_of_error_shows_its_class(kind: type[BaseException]) -> None:
    error = kind.__new__(kind)
    error.args = ("SomeLibraryError: of_a_library() failed\nat line 7",)
    for attribute, value in (("lineno", 1), ("colno", 1)):
        if kind is json.JSONDecodeError:
            setattr(error, attribute, value)
    said = cause(error)
    assert said
    assert not LIBRARY.search(said.replace("'SomeLibraryError: of_a_library() failed\\nat line 7' is missing", ""))


def test_a_sentence_of_ours_stays_as_it_is() -> None:
    assert cause(Refused("MY_GROUP is held: wait")) == "MY_GROUP is held: wait"
    assert cause(TryAgain("no answer")) == "no answer"
    assert cause(ValueError("a time has no time zone")) == "a time has no time zone"
    assert cause(SystemExit("the sentence of a task")) == "the sentence of a task"


def test_a_mistake_of_this_program_says_so_and_the_log_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    said = mistake(raised(lambda: len(3)))  # type: ignore[arg-type]
    assert said == "a mistake of this program stopped it (type): the log has its traceback; report it"
    assert "Traceback" in caplog.text
    assert "TypeError" in caplog.text


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("org.apache.kafka.common.errors.RecordTooLargeException: The record is too large", "The record is too large"),
        ("org.apache.kafka.common.errors.TimeoutException", "timeout"),
        ("a.b.Outer$Inner: two\nlines", "two lines"),
        ("Unable to connect: java.net.ConnectException: Connection refused", "Unable to connect: Connection refused"),
        ("Failed to find any class that implements Connector", "Failed to find any class that implements Connector"),
        ("no class at all", "no class at all"),
        ("java.lang.IllegalStateException:", "illegal state"),
    ],
)
def test_what_java_says_has_no_names_of_classes(said: str, words: str) -> None:
    assert java_cause(said) == words


def _httpx() -> list[type[BaseException]]:
    found = [each for each in _all_of(httpx.HTTPError) if each is not httpx.HTTPStatusError]
    return [each for each in found if each.__module__.startswith("httpx")]


@pytest.mark.parametrize("kind", _httpx(), ids=lambda kind: kind.__name__)
def test_a_service_that_does_not_answer_is_named_in_plain_words(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    error = kind("[Errno 111] Connection refused")
    with caplog.at_level(logging.INFO):
        said = unanswered(error)
    assert not re.search(r"Errno|Error|[A-Z]", said)
    assert "Errno 111" in caplog.text

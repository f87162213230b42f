"""What an error of Python or of a library is called in sentences for people.

Their own texts speak to programmers: ``[Errno 2] No such file or directory: 'x'``, ``KeyError('phase')``. So a
sentence names what was tried and what to do, and takes the cause from here. The log has the library's words.
"""

from __future__ import annotations

import binascii
import errno
import json
import logging
import os
import re
import socket
import ssl
import subprocess
from urllib.error import HTTPError, URLError

_log = logging.getLogger(__name__)

#: The packages of this project, and the one whose errors its tasks raise. Their errors have sentences for people.
_OURS = {"kafka_dr", "kafka_dr_airflow", "kafka_dr_spark", "copy_audit", "jobs", "airflow"}
#: Kinds of errors, the narrower ones first.
_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (KeyboardInterrupt, "somebody interrupted it"),
    (TimeoutError, "no answer came in time"),
    (subprocess.TimeoutExpired, "it did not end in time"),
    (ConnectionRefusedError, "nothing listens at that address"),
    (ConnectionError, "the connection was lost"),
    (socket.gaierror, "the host name is unknown here"),
    (ssl.SSLCertVerificationError, "the certificate of the server is not accepted"),
    (ssl.SSLError, "TLS could not be agreed on"),
    (FileNotFoundError, "there is no such file or folder"),
    (FileExistsError, "it exists already"),
    (PermissionError, "this process has no right to do that"),
    (IsADirectoryError, "it is a folder, and a file was expected"),
    (NotADirectoryError, "a part of the path is not a folder"),
    (UnicodeError, "it is not text in UTF-8"),
    (binascii.Error, "it is not encoded in Base64"),
    (IndexError, "a part of it is missing"),
    (AttributeError, "a part of it is of another kind than expected"),
    (TypeError, "a part of it is of another kind than expected"),
    (RecursionError, "it is nested too deeply"),
    (EOFError, "it ends too early"),
    (MemoryError, "this process has too little memory"),
)
#: By number, what an operating system means.
_NUMBERS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk or the network storage failed",
    errno.ESTALE: "the network storage is gone",
    errno.ENOTCONN: "the network storage is not connected",
    errno.EHOSTUNREACH: "there is no way to that address",
    errno.ENETUNREACH: "there is no way to that address",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EMFILE: "this process has too many open files",
    errno.E2BIG: "its arguments are too long",
    errno.ENOEXEC: "it is not a program that this machine can run",
}
#: How Python words that a value is not what it should be, and how people do.
_VALUES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"invalid literal for int\(\) with base \d+: (.*)", r"\1 is not a whole number"),
        (r"could not convert string to float: (.*)", r"\1 is not a number"),
        (r"Invalid isoformat string: (.*)", r"\1 is not a time"),
        (r"(.*) is not a valid \w+", r"\1 is none of the values that are known"),
        (r"(?:too many|not enough) values to unpack .*", "it has another number of parts than expected"),
        (r".*magic bytes not found.*", "it is no Parquet file, or was not written to its end"),
    )
)
#: What looks like the words of a program: a class, an error number, an object.
_OF_A_LIBRARY = re.compile(r"\[Errno|\b[A-Z]\w*(?:Error|Exception)\b|<.*? at 0x|\n")
#: A class of Java before its message, and one of an exception in the middle of a text.
_JAVAS_CLASS = re.compile(r"(?:[a-z]\w*\.)+([A-Z][\w$]*)(?::\s*(.*))?", re.DOTALL)
_JAVAS_ERROR = re.compile(r"(?:\b[a-z]\w*\.)*\b[A-Z][\w$]*(?:Exception|Error)\b(?:: ?)?")


def cause(error: BaseException) -> str:
    """Return what went wrong, as it continues "…, because". What the library said goes to the log.

    An error of this project is a sentence already, and so is the text of a :class:`ValueError` or an :class:`OSError`
    that this project raises.
    """
    if type(error).__module__.partition(".")[0] in _OURS or isinstance(error, SystemExit):
        return str(error)
    words = _words(error)
    if words != str(error):
        _log.info("%s: %r", words, error)
    return words


def mistake(error: BaseException) -> str:
    """Return a sentence about an error that nobody foresaw. The log gets its traceback.

    What an operating system or a storage refuses is no mistake of this program.
    """
    if isinstance(error, OSError):
        return cause(error)
    _log.error("an unforeseen error", exc_info=error)
    return f"a mistake of this program stopped it ({_spelled_out(error)}): the log has its traceback; report it"


def java_cause(said: str) -> str:
    """Return what a program in Java said of an error, without the names of its classes."""
    found = _JAVAS_CLASS.fullmatch(said.strip())
    text = said if found is None else found[2] or _in_words(found[1])
    return " ".join(_JAVAS_ERROR.sub("", text).split()) or "an error without a message"


def _words(error: BaseException) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON (line {error.lineno}, column {error.colno})"
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing" if error.args else "a part of it is missing"
    if isinstance(error, URLError):
        return _of_a_request(error)
    if isinstance(error, PermissionError) and (own := _own_text(error)):
        return own
    for kind, words in _KINDS:
        if isinstance(error, kind):
            return words
    if isinstance(error, OSError) and error.errno is not None:
        return _NUMBERS.get(error.errno) or (error.strerror or "the operating system refused it").lower()
    said = str(error).strip()
    return _of_a_value(error, said) or (f"something unforeseen happened ({_spelled_out(error)}), and the log says what")


def _own_text(error: OSError) -> str:
    """Return what this project says of a right that it refuses itself, and not the operating system."""
    said = error.strerror or str(error)
    systems = error.errno is not None and said == os.strerror(error.errno)
    return "" if systems or _OF_A_LIBRARY.search(said) else said


def _of_a_value(error: BaseException, said: str) -> str:
    for pattern, words in _VALUES:
        if pattern.fullmatch(said):
            return pattern.sub(words, said)
    if isinstance(error, ValueError | OSError) and said and not _OF_A_LIBRARY.search(said):
        return said
    return ""


def _of_a_request(error: URLError) -> str:
    if isinstance(error, HTTPError):
        return f"it answered {error.code}: {error.reason}"
    return _words(error.reason) if isinstance(error.reason, BaseException) else "the request cannot be sent"


def _spelled_out(error: BaseException) -> str:
    return _in_words(type(error).__name__)


def _in_words(name: str) -> str:
    name = name.rpartition("$")[2].removesuffix("Error").removesuffix("Exception")
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+", name)).lower() or "error"

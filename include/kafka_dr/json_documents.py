"""JSON documents that this project keeps: read whole or refused, and, as files, replaced as a whole.

Paths are ``pathlib.Path``, or an object store's paths with the same methods.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar

from kafka_dr.causes import cause
from kafka_dr.codec import decode, encode

_Content = TypeVar("_Content")


#: Records the digest of a file that is about to be written, by its path below the evidence root; ``None``: it is gone.
Recorder = Callable[[str, str | None], None]


def not_recorded(path: str, sha256: str | None) -> None:
    """Record no digest."""


class DocumentDamaged(ValueError):
    """The document exists, and its content is not what this program writes."""


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a stored value is a finite number that a float can hold."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def parsed(content: bytes, from_json: Callable[[Any], _Content], *, schema: int | None = None) -> _Content:
    """Return what a JSON document says.

    :param from_json: makes the result of the document; a ``ValueError``, ``LookupError``, ``TypeError``,
        ``AttributeError`` or ``OverflowError`` means that the document is damaged
    :param schema: the only ``schema_version`` that is accepted, which ``from_json`` does not get; ``None`` for a
        document without one
    :raises DocumentDamaged: it says something else, or was written by a newer program
    """
    try:
        document = json.loads(content)
        if schema is not None:
            found = document.pop("schema_version", None) if isinstance(document, dict) else None
            if found != schema:
                raise ValueError(f"its schema is {found}, this program knows {schema}")
        return from_json(document)
    except RecursionError as error:
        raise DocumentDamaged("its parts are nested too deeply") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise DocumentDamaged(cause(error)) from error


@dataclass(frozen=True, slots=True)
class JsonFile(Generic[_Content]):
    """A file with one JSON document.

    :param path: of the file; its folder is created when the file is written
    :param schema: the value of ``schema_version`` that is written, and the only one that is read
    :param to_json: returns the fields of the document; ``schema_version`` is added to them
    :param from_json: the inverse, see :func:`parsed`
    :param indent: spaces for each level, for files that people open
    """

    path: Any
    schema: int
    to_json: Callable[[_Content], Mapping[str, Any]]
    from_json: Callable[[Any], _Content]
    indent: int | None = None

    @classmethod
    def of(
        cls, kind: type[_Content], path: Any, schema: int, *, under: str = "", indent: int | None = None
    ) -> JsonFile[_Content]:
        """Return the file of what the codec stores.

        :param kind: of the content
        :param under: the one field that holds the content, if that is no object itself
        """

        def from_json(found: dict[str, Any]) -> _Content:
            return decode(dict[str, kind], found)[under] if under else decode(kind, found)  # type: ignore[valid-type]

        def to_json(content: _Content) -> dict[str, Any]:
            stored = encode(content, kind)
            return {under: stored} if under else stored

        return cls(path, schema, to_json, from_json, indent)

    def read(self) -> _Content | None:
        """Return the content; ``None`` if the file does not exist.

        :raises DocumentDamaged: the file holds something else, or was written by a newer program
        :raises OSError: the storage does not answer
        """
        try:
            return parsed(self.path.read_bytes(), self.from_json, schema=self.schema)
        except FileNotFoundError:
            return None
        except DocumentDamaged as error:
            raise DocumentDamaged(f"{self.path} is damaged: {error}") from error

    def write(self, content: _Content) -> None:
        """Replace the file."""
        write_whole(self.path, self.encoded(content))

    def remove(self) -> None:
        """Remove the file; one that does not exist is as good.

        :raises OSError: the storage does not answer
        """
        remove_file(self.path)

    def encoded(self, content: _Content) -> bytes:
        """Return what :meth:`write` writes."""
        document = {"schema_version": self.schema, **self.to_json(content)}
        separators = (",", ":") if self.indent is None else None
        return json.dumps(document, sort_keys=True, indent=self.indent, separators=separators).encode()


def remove_file(path: Any) -> None:
    """Remove a file; one that does not exist is as good. Not every storage's paths know ``missing_ok``.

    :raises OSError: the storage does not answer
    """
    with suppress(FileNotFoundError):
        path.unlink()


def write_whole(path: Any, content: bytes | Iterable[bytes]) -> None:
    """Replace a file at once; no reader ever sees a part of the new content.

    :param content: the bytes, whole or piece by piece
    """
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder.joinpath(f".{path.name}.{secrets.token_hex(4)}")
    with draft.open("wb") as file:
        for piece in (content,) if isinstance(content, bytes) else content:
            file.write(piece)
    draft.rename(path)

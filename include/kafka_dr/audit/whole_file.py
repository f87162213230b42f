"""Files below the evidence root that are replaced as a whole: a reader sees the former content or the new one.

Paths are ``pathlib.Path``, or an object store's paths with the same methods.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_Content = TypeVar("_Content")


class FileDamaged(ValueError):
    """The file exists, and its content is not what this program writes."""


@dataclass(frozen=True, slots=True)
class JsonFile(Generic[_Content]):
    """One JSON document, the only way in which audits keep small facts.

    :param path: of the file; its folder is created when the file is written
    :param schema: the value of ``schema_version`` that is written, and the only one that is read
    :param to_json: returns the fields of the document; ``schema_version`` is added to them
    :param from_json: the inverse; a ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError`` means that the
        document is damaged
    :param indent: spaces for each level, for files that people open
    """

    path: Any
    schema: int
    to_json: Callable[[_Content], Mapping[str, Any]]
    from_json: Callable[[Any], _Content]
    indent: int | None = None

    def read(self) -> _Content | None:
        """Return the content; ``None`` if the file does not exist.

        :raises FileDamaged: the file holds something else, or was written by a newer program
        :raises OSError: the storage does not answer
        """
        try:
            return self.from_json(read_json(self.path, schema=self.schema))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileDamaged(f"{self.path} is damaged: {error}") from error

    def write(self, content: _Content) -> None:
        """Replace the file."""
        document = {"schema_version": self.schema, **self.to_json(content)}
        write_whole(self.path, json.dumps(document, sort_keys=True, indent=self.indent).encode())


def write_whole(path: Any, content: bytes) -> None:
    """Replace a file at once; no reader ever sees a part of the new content."""
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder.joinpath(f".{path.name}.{secrets.token_hex(4)}")
    with draft.open("wb") as file:
        file.write(content)
    draft.rename(path)


def read_json(path: Any, *, schema: int) -> Any:
    """Return a JSON document whose ``schema_version`` is the expected one.

    :raises FileNotFoundError: the file does not exist
    :raises OSError: the storage does not answer
    :raises ValueError: the file is not JSON, or its ``schema_version`` is missing or another one
    """
    content = json.loads(path.read_bytes())
    found = content.get("schema_version") if isinstance(content, dict) else None
    if found != schema:
        raise ValueError(f"its schema is {found}, this program knows {schema}")
    return content

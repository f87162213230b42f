"""Files under the evidence root that are replaced as a whole: whoever reads sees what was there, or what is there now.

Paths are ``pathlib.Path``, or an object store's with the same manners.
"""

from __future__ import annotations

import json
import secrets
from typing import Any


def write_whole(place: Any, content: bytes) -> None:
    """Put this in the place of what is there; no reader ever sees a part of it."""
    folder = place.parent
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder.joinpath(f".{place.name}.{secrets.token_hex(4)}")
    with draft.open("wb") as file:
        file.write(content)
    draft.rename(place)


def read_json(place: Any, *, schema: int) -> Any:
    """Return a document whose schema this program knows.

    :raises FileNotFoundError: there is none
    :raises OSError: the storage does not answer
    :raises ValueError: it is no JSON, or says nothing of a schema, or of another one
    """
    content = json.loads(place.read_bytes())
    found = content.get("schema_version") if isinstance(content, dict) else None
    if found != schema:
        raise ValueError(f"its schema is {found}, this program knows {schema}")
    return content

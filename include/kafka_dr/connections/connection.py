"""One connection, from the texts in which Airflow keeps it: a JSON object or a URI.

The rules are those of Airflow's own ``Connection.from_json`` and ``Connection.from_uri``. So the same variable or file
works with Airflow and without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from kafka_dr.causes import cause
from kafka_dr.errors import Refused

#: The parameter of a URI that holds the whole extra as JSON.
_WHOLE_EXTRA = "__extra__"
_MOST_SCHEMES = 2
#: Entries of the extra that are secret.
_SECRET = (
    *("sasl.password", "sasl.jaas.config", "ssl.key.password", "ssl.key.pem"),
    *("private_key", "bearer_token", "key_password"),
)
#: Entries of the extra that name a file with a secret: the entry that it replaces, and what it is.
_IN_FILES = {
    "private_key_file": ("private_key", "the signing key"),
    "bearer_token_file": ("bearer_token", "the bearer token in"),
}
_FORMS = "expected a JSON object or a URI, as Airflow's AIRFLOW_CONN_… variables hold it"


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection. ``repr`` shows no secrets.

    :param conn_id: the id that the topology names
    :param conn_type: ``kafka``, ``http`` …
    :param schema: of an HTTP connection: ``http`` or ``https``
    :param extra: everything else, by name
    """

    conn_id: str
    conn_type: str = ""
    host: str = ""
    port: int | None = None
    schema: str = ""
    login: str = ""
    password: str = field(default="", repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, conn_id: str, stored: str | Mapping[str, Any]) -> Connection:
        """Read what is stored: a JSON object, its text, or a URI; and the files that it names.

        :raises Refused: it is none of these; the message shows nothing of the value, which may hold a password
        """
        return cls._read(conn_id, stored).with_files()

    @classmethod
    def _read(cls, conn_id: str, stored: str | Mapping[str, Any]) -> Connection:
        if not isinstance(stored, str):
            return cls._of_fields(conn_id, stored)
        text = stored.strip()
        if not text.startswith("{"):
            return cls._of_uri(conn_id, text)
        try:
            found = json.loads(text)
        except ValueError:
            raise _unreadable(conn_id, "its JSON cannot be read") from None
        return cls._of_fields(conn_id, found)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text in it that no log may show."""
        former = self.extra.get("former_keys")
        keys = former.values() if isinstance(former, Mapping) else ()
        return tuple(str(each) for each in (self.password, *map(self.extra.get, _SECRET), *keys) if each)

    def with_files(self) -> Connection:
        """Return it with the secrets that its extra does not hold, and names the files of.

        :raises Refused: such a file cannot be read
        """
        extra = dict(self.extra)
        for entry, (name, what) in _IN_FILES.items():
            if (path := extra.get(entry)) and not extra.get(name):
                try:
                    extra[name] = Path(path).read_text("utf-8").strip()
                except (OSError, UnicodeDecodeError) as error:
                    raise Refused(
                        f"connection {self.conn_id}: {what} {path} cannot be read ({cause(error)})"
                    ) from error
        return replace(self, extra=extra)

    @classmethod
    def _of_fields(cls, conn_id: str, found: Mapping[str, Any]) -> Connection:
        known = {each.name for each in fields(cls)} | {"description", "extra_dejson"}
        if unknown := sorted(set(found) - known):
            raise _unreadable(conn_id, f"it has fields that no connection has ({', '.join(unknown)})")
        port = found.get("port")
        try:
            number = int(port) if port else None
        except (TypeError, ValueError):
            raise _unreadable(conn_id, "its port is not a number") from None
        texts = {name: str(found.get(name) or "") for name in ("conn_type", "host", "schema", "login", "password")}
        texts["conn_type"] = texts["conn_type"].replace("-", "_")
        extra = found.get("extra") or found.get("extra_dejson")
        return cls(conn_id, port=number, extra=_extra(conn_id, extra), **texts)

    @classmethod
    def _of_uri(cls, conn_id: str, uri: str) -> Connection:
        schemes = uri.count("://")
        kind, _, rest = uri.partition("://")
        if not schemes or schemes > _MOST_SCHEMES:
            raise _unreadable(conn_id, _FORMS)
        own_protocol = schemes == _MOST_SCHEMES
        if own_protocol and set("@:") & set(rest.partition("://")[0]):
            raise _unreadable(conn_id, "its URI has a login before the protocol of the host: write it after that")
        try:
            parts = urlsplit(rest if own_protocol else f"//{rest}")
            port = parts.port
        except ValueError:
            raise _unreadable(conn_id, "its URI has no valid host and port") from None
        host = _host(parts)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(
            conn_id,
            conn_type=kind.lower().replace("-", "_"),
            host=f"{parts.scheme}://{host}" if own_protocol and host else host,
            port=port,
            schema=unquote(parts.path[1:]),
            login=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            extra=_extra(conn_id, query.get(_WHOLE_EXTRA, query)),
        )


def _host(parts: SplitResult) -> str:
    """Return the host as it was written, as far as it may be a path: ``urlsplit`` gives it in lower case."""
    host = unquote(parts.hostname or "")
    if "/" not in host:
        return host
    return unquote(parts.netloc.rpartition("@")[2].partition(":")[0])


def _extra(conn_id: str, stored: Any) -> dict[str, Any]:
    if not stored:
        return {}
    try:
        found = json.loads(stored) if isinstance(stored, str) else stored
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise _unreadable(conn_id, "its extra is not a JSON object")
    return dict(found)


def _unreadable(conn_id: str, why: str) -> Refused:
    return Refused(f"connection {conn_id} cannot be read: {why}")

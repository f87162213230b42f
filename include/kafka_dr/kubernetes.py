"""The API of Kubernetes, as far as single objects are read and replaced. Every call has a deadline.

An object is replaced as a whole, with the ``resourceVersion`` that was read: if somebody else has changed it since, the
API refuses (409), and nothing was changed.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from kafka_dr.errors import ConnectionMistake, Refused, TryAgain, Unanswered
from kafka_dr.http_endpoint import HttpEndpoint, connection_problem, unanswered
from kafka_dr.quoting import line

Document = dict[str, Any]
#: The deadline of one call, in seconds.
REQUEST_SECONDS = 10.0
#: How often a change is made again on a newer version of the object.
_TRIES = 5
_SHOWN = 300


class ObjectChanged(TryAgain):
    """Somebody else has changed the object since it was read; nothing was changed."""


class ObjectNotFound(Refused):
    """There is no object of that name."""


class KubernetesApi:
    """Reads and replaces objects.

    :param endpoint: the address of the API server, and the token or the certificate of an account that may get and
        update the objects
    :param request_seconds: the deadline of one call
    """

    def __init__(self, endpoint: HttpEndpoint, *, request_seconds: float = REQUEST_SECONDS) -> None:
        self.where = endpoint.base_url
        self._http = httpx.Client(
            base_url=endpoint.base_url.rstrip("/"),
            auth=(endpoint.username, endpoint.password or "") if endpoint.username else None,
            headers=endpoint.headers,
            # Without HTTPS no certificate is checked, and loading the system's authorities is slow: none are trusted.
            verify=endpoint.tls_context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=False,
            timeout=request_seconds,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def read(self, path: str) -> Document | None:
        """Return an object; ``None`` if there is none.

        :raises TryAgain: the API server does not answer
        :raises Refused: the object may not be read
        """
        try:
            return self._ask("GET", path)
        except ObjectNotFound:
            return None

    def replace(self, path: str, wanted: Mapping[str, Any]) -> Document:
        """Replace an object by compare-and-set on its ``metadata.resourceVersion``, and return it as it is then.

        :raises ObjectChanged: somebody else has changed it since
        :raises ObjectNotFound: there is none
        :raises TryAgain: no answer came: read it, to see whether it was changed
        """
        return self._ask("PUT", path, wanted)

    def change(self, path: str, change: Callable[[Document], Document]) -> Document:
        """Read an object, change it, and replace it; again if somebody else was faster.

        :param change: returns the changed object, or an equal one if there is nothing to do; it must not change its
            argument
        :returns: the object as it is now
        :raises ObjectNotFound: there is none
        """
        for _ in range(_TRIES):
            found = self._ask("GET", path)
            wanted = change(found)
            if wanted == found:
                return found
            try:
                return self.replace(path, wanted)
            except ObjectChanged:
                continue
        raise TryAgain(f"{path} was changed by somebody else {_TRIES} times in between: try again")

    def put(self, collection: str, name: str, wanted: Mapping[str, Any]) -> None:
        """Create an object, or replace what it holds.

        :param collection: the path of objects of its kind
        :param wanted: the object without its name
        """
        path = path_of(collection, name)
        if self.read(path) is None:
            self._ask("POST", collection, {**wanted, "metadata": {"name": name}})
            return
        self.change(path, lambda now: {**now, **{key: value for key, value in wanted.items() if key != "metadata"}})

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Document:
        doing = f"{_DOING[method]} {path}"
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            if problem := connection_problem(error):
                raise ConnectionMistake(
                    f"could not {doing}: Kubernetes at {self.where} cannot be asked: {problem}"
                ) from error
            # Of a change nobody knows: it is read again, and made again if it is missing.
            raise TryAgain(
                f"could not {doing}: Kubernetes at {self.where} gave no answer, because {unanswered(error)}: check its "
                "address, its certificate, and that it runs"
            ) from error
        if not answer.is_success:
            raise _error(answer, f"could not {doing}: Kubernetes at {self.where}")
        try:
            found = answer.json()
        except ValueError as error:
            raise TryAgain(f"could not {doing}: the answer of Kubernetes at {self.where} is not JSON") from error
        if not isinstance(found, dict):
            raise Refused(f"could not {doing}: Kubernetes at {self.where} answered with no object")
        return found


_DOING = {"GET": "read", "PUT": "change", "POST": "create"}


def path_of(collection: str, name: str) -> str:
    """Return the path of an object.

    :param collection: the path of objects of its kind
    """
    return f"{collection}/{quote(name, safe='')}"


def _error(answer: httpx.Response, sentence: str) -> Refused | Unanswered:
    said = f"{sentence} answered {answer.status_code} ({_message(answer)})"
    match answer.status_code:
        case 409:
            return ObjectChanged(said)
        case 404:
            return ObjectNotFound(said)
        case 401 | 403:
            return ConnectionMistake(
                f"{said}: check the token in its connection, and that its account may get and update it"
            )
        case status if status == 429 or status >= 500:
            return TryAgain(said)
        case _:
            return Refused(said)


def _message(answer: httpx.Response) -> str:
    """Return what a ``Status`` object says, or else the reason of the answer."""
    try:
        text = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        text = answer.text or answer.reason_phrase
    return line(text[:_SHOWN])

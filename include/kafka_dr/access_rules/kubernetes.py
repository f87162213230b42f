"""The API of Kubernetes, as far as custom resources are read and replaced. Every call has a deadline."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.quoting import line
from kafka_dr.replication import ConnectEndpoint

#: The deadline of one call, in seconds.
REQUEST_SECONDS = 10.0
_SHOWN = 300


class ResourceChanged(TryAgain):
    """Somebody else has changed the resource since it was read; nothing was changed."""


class ResourceNotFound(Refused):
    """There is no resource of that name."""


class KubernetesApi:
    """Reads and replaces resources.

    :param endpoint: where it is, and the token of an account that may get and update them
    """

    def __init__(self, endpoint: ConnectEndpoint, *, request_seconds: float = REQUEST_SECONDS) -> None:
        self._where = endpoint.base_url
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

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return a resource.

        :param kind: its path up to the name
        :raises ResourceNotFound: there is none
        """
        return self._ask("GET", kind, name)

    def replace(self, kind: str, name: str, resource: Mapping[str, Any]) -> dict[str, Any]:
        """Replace a resource by compare-and-set on its ``metadata.resourceVersion``, and return it as it is then.

        :param kind: its path up to the name
        :raises ResourceChanged: somebody else has changed it since
        """
        return self._ask("PUT", kind, name, resource)

    def _ask(self, method: str, kind: str, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        doing = f"{'read' if method == 'GET' else 'change'} {name}"
        try:
            answer = self._http.request(method, f"{kind}/{quote(name, safe='')}", json=body)
        except httpx.HTTPError as error:
            # Of a change nobody knows: it is read again, and made again if it is missing.
            raise TryAgain(
                f"could not {doing}: Kubernetes at {self._where} gave no answer ({error}): check its address, its "
                "certificate, and that it runs"
            ) from error
        if not answer.is_success:
            raise _error(answer, f"could not {doing}: Kubernetes at {self._where}")
        try:
            found = answer.json()
        except ValueError as error:
            raise TryAgain(f"could not {doing}: the answer of Kubernetes at {self._where} is no JSON") from error
        return dict(found)


def _error(answer: httpx.Response, sentence: str) -> Refused | TryAgain:
    said = f"{sentence} answered {answer.status_code} ({_message(answer)})"
    match answer.status_code:
        case 409:
            return ResourceChanged(said)
        case 404:
            return ResourceNotFound(said)
        case 401 | 403:
            return Refused(f"{said}: check the token in its connection, and that its account may get and update it")
        case status if status == 429 or status >= 500:
            return TryAgain(said)
        case _:
            return Refused(said)


def _message(answer: httpx.Response) -> str:
    try:
        text = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        text = answer.text or answer.reason_phrase
    return line(text[:_SHOWN])

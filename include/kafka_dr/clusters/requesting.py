"""kafka-python's admin client, able to send any request of the protocol.

Its public methods cover neither client quotas (KIP-546) nor many topics' configurations in one answer as it came. They
all send by the connection manager that the class keeps for its mix-ins; this one more method does the same. It is the
only place that knows of the manager, and it is checked when the client is made, not in the middle of an outage.
"""

from __future__ import annotations

from typing import Any

from kafka.admin import KafkaAdminClient


class RequestingAdminClient(KafkaAdminClient):  # type: ignore[misc]  # it comes without types
    """An admin client with one more method."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._send_and_wait = self._manager.run, self._manager.send

    def request(self, wanted: Any, broker: int | None = None) -> Any:
        """Send a request, wait for the response and return it; may be called from several threads.

        :param wanted: one of kafka-python's generated request objects; brokers forward what is the controller's
        :param broker: the number of the broker to ask; any where ``None``
        """
        run, send = self._send_and_wait
        return run(send, wanted, broker)

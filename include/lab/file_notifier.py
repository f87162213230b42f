"""A notifier that needs no server: what the lab's Airflow notifies people of comes to a page, the newest first."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import BaseNotifier


class FileNotifier(BaseNotifier):
    """Puts each notification at the beginning of a file.

    :param path: of the file; it is made if it is missing
    :param text: what is written of a notification, a template
    """

    template_fields: Sequence[str] = ("text",)

    def __init__(self, *, path: str, text: str) -> None:
        super().__init__()
        self.path = path
        self.text = text

    def notify(self, context: Any) -> None:
        """Write the text, which Airflow has rendered, before those that are there."""
        del context
        with Path(self.path).open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            earlier = file.read()
            file.truncate(0)
            file.write(f"{self.text}\n{earlier}")

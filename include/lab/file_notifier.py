"""A notifier that needs no server: what the lab's Airflow notifies people of is appended to a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import BaseNotifier


class FileNotifier(BaseNotifier):
    """Appends each notification to a file.

    :param path: of the file; it is made if it is missing
    :param text: what is written of a notification, a template
    """

    template_fields: Sequence[str] = ("text",)

    def __init__(self, *, path: str, text: str) -> None:
        super().__init__()
        self.path = path
        self.text = text

    def notify(self, context: Any) -> None:
        """Append the text, which Airflow has rendered."""
        del context
        with Path(self.path).open("a", encoding="utf-8") as file:
            file.write(f"{self.text}\n")

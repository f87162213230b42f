"""What can go wrong in the lab, as sentences for a person."""

from __future__ import annotations


class LabError(Exception):
    """Something the person at the terminal has to know: what was seen, what was expected, what to do."""


class NotReady(LabError):
    """A part of the lab did not become ready before its deadline, or ended while it was starting."""

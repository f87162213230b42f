"""Conflicts: sites that take writes to the same topics write one key before either has seen the other's record. Pure.

:mod:`rules` says what a conflict is, :mod:`arrivals` what is known of when a record reached another site.
"""

from __future__ import annotations

"""What tests of several kinds share: the lab, and a protection group of their own in it."""

from __future__ import annotations

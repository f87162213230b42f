"""The conflict audit: records of one key that several members took before either had the other's."""

from __future__ import annotations

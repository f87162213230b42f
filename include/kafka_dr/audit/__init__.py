"""Audits: whether a copy is equal, record by record, and up to which offset that is known."""

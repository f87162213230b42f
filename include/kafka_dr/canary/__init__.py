"""Numbered records that show whether, when and in which order a flow replicates records."""

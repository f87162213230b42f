"""Failovers: the steps that move a protection group from one cluster to another, and prove that it is there."""

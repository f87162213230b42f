"""The verbs: what moves a protection group from one cluster to another, step by step, and proves each step."""

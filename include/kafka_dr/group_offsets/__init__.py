"""Where each consumer group of a run resumes, and how far the copy is verified."""

"""The engine of every verb: the request, the run, its clients, its records, and what the registers say of it."""

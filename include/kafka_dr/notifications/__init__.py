"""What people are notified of: each change once, and from an outbox, so that no run ever waits for a mail server.

``notifications/waiting/<id>.json`` below the evidence root holds what is to be sent,
``notifications/sent/<notifier>.json`` what each notifier has sent, and ``notifications/readiness.json`` which answer
about readiness people were given last.
"""

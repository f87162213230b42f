"""The storage below ``evidence.root``, which may hang: every access has a deadline and can be left alone.

A file system is reached by a child process, because a thread that waits for a network file system cannot be ended, and
would keep its process from ending. An object store is reached by a thread, which waits for a socket.
"""

"""The demo of a stretch cluster: a site is killed under load, and what happened is compared with what was predicted.

Nothing in this folder imports the project's own code: the product is asked by its command line, as a user asks it.
"""

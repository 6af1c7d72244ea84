"""What docs/model.md describes, event by event: every handset and every message is an object.

Nothing here imports the package. It is slow, it is obvious, and the compiled model must agree with it.
"""

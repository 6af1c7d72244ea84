"""How tests call the command line."""

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]
"""Runs a command and returns its exit code, what it printed, and what it reported."""

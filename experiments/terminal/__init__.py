"""Storms in a terminal: curves of characters, and a view that moves."""

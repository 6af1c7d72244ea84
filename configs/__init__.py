"""Data only: scenarios, studies and training settings as YAML, found through ``importlib.resources``."""

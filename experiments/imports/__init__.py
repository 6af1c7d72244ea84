"""Brings in what operators have: running configurations, traps and counters."""

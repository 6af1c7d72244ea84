"""Recommendations in the languages of network elements and people, one file per target."""

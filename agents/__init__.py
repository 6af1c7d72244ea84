"""Controllers: fixed settings, operator rules, and policies learnt by PPO or distilled from it."""

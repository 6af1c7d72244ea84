"""Control laws: published ones and plain rules, each a function of what an operator sees."""

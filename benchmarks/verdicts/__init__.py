"""How far verdicts on pairs of forms can be trusted."""

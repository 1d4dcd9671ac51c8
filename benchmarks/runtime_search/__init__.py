"""How long a placement decision takes, and how good it is."""

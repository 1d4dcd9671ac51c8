"""The warp IR: a small intermediate representation of what one warp does, and its verifier."""

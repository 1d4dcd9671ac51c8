"""Why a placement gains or loses, in words and figures."""

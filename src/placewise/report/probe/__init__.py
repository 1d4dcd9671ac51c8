"""What a probe found, as text, data and figures."""

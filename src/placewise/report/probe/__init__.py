"""The findings of a probe as text, data and figures."""

"""Findings of lint as text, as baselines and as annotations for GitHub."""

"""What lint finds, for people, for baselines and for GitHub."""

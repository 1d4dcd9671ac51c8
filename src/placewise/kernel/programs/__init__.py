"""Programs: several launches that share arrays, in their order."""

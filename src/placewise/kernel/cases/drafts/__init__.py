"""Cases to start from, guessed from the text of a source."""

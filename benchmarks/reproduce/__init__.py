"""The papers' tables recomputed, and the ingredients of their models judged."""

"""Layouts of arrays of structs: what they gain, whether what is written is right."""

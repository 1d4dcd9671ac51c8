"""Texture and surface accesses: coordinates to texels, texels to values."""

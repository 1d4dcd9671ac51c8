"""From warp accesses to the line requests that each asks its first cache for."""

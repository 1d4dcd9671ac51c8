"""Whether layouts that are chosen by their sectors are as fast as others, rewritten and timed."""

"""The lowering library that PTX and machine code (SASS) share."""

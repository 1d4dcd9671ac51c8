"""What lowering from PTX and lowering from SASS share."""

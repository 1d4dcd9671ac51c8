"""The machine specification language: grammar, parser, printer, and resolution to a machine."""

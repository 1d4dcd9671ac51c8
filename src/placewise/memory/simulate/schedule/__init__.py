"""Which blocks run when and where: SMs, waves, windows of waves."""

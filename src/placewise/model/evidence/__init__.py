"""What a model knows of one launch: warp paths, traffic, calibration."""

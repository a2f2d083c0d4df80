"""Long runs: keyed lanes, progress, checkpoints, and paths that are stopped when they leave their domain."""

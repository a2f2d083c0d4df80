"""Real networks of shaped blocks: drawn exactly through covariances alone, or with all their matrices."""

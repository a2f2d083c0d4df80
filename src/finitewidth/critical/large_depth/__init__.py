"""Late layers at criticality: series and powers of depth, for every class."""

"""Real networks with their backward pass and the first instant of their training."""

"""Universality classes: which critical points an activation has, and with which exponents."""

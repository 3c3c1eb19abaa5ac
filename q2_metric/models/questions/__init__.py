"""Makes questions by rules."""

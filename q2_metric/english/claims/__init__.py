"""Finds the claims of a response, and tells whether it claims anything."""

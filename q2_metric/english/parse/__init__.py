"""Parses English sentences, and finds spans and pronouns in the parse."""

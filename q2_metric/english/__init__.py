"""Everything that is specific to English: parsing, claims, values, questions."""

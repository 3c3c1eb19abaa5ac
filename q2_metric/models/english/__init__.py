"""Everything that is specific to English: parsing, spans, claims, stances, coreference."""

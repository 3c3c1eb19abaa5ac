"""Everything specific to English: parse, spans, spelling, coreference."""

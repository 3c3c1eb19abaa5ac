"""What is known of English: parse, spans, spelling, coreference."""

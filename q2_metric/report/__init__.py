"""Shows the scores as one HTML page, with the evidence for each score."""

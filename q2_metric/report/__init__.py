"""The scores as one HTML page, with the evidence for each of them."""

"""Models of the Hugging Face Hub, on torch."""

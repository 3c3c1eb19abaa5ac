"""Runs models of the Hugging Face Hub in torch."""

"""The data sets for evaluation: a catalogue, downloads, and readers of their files."""

"""Questions made by rule."""

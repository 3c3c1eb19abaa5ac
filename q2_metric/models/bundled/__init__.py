"""The models that ship in the package."""

"""What the project needs beside the package; not installed."""

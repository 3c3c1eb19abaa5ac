"""The local web server of ``q2 serve``: a page on which a user scores one answer at a time.

It writes nothing to disk and sends no requests to the network.
"""

API_KEY = "Q2_API_KEY"
"""The environment variable with the key that the API asks for."""

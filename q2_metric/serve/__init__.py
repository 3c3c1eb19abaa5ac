"""The local web server of ``q2 serve``: a page on which a user scores one answer at a time.

It writes nothing to disk and sends no requests to the network.
"""

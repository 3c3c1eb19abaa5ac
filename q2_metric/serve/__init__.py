"""The local web server of ``q2 serve``: a page on which a user scores one answer at a time.

=================  =====================================================================
module             what it does
=================  =====================================================================
:mod:`.explain`    scores an answer and makes the page that explains the scores
:mod:`.server`     the HTTP server: answers requests and sets the headers
:mod:`.pages`      the page with the form, and a page with one message
=================  =====================================================================

The server writes nothing to disk and sends no requests to the network.
"""

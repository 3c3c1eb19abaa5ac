"""``q2 serve`` shows a page that judges one answer in a browser, on this machine.

=================  =====================================================================
module             what it does
=================  =====================================================================
:mod:`.explain`    turns texts into an output row and its page; models stay loaded
:mod:`.server`     the HTTP server: which requests it answers, and with which headers
:mod:`.pages`      the form, and a page with one message
=================  =====================================================================

The server writes nothing to disk and makes no requests to the network.
"""

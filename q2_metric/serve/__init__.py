"""``q2 serve``: judge one answer in a browser, on this machine.

=================  =====================================================================
room               what it does
=================  =====================================================================
:mod:`.explain`    texts in, a row of the output and its page out; models stay loaded
:mod:`.server`     the HTTP server: which requests it answers, and with which headers
:mod:`.pages`      the form, and a page with one message
=================  =====================================================================

The server writes nothing to disk and makes no requests to the network.
"""

"""The HTTP server of ``q2 serve``.

A page of another website could make the user's browser send requests to it. So ``Host`` must be an
IP address, ``localhost`` or the name of the server, which stops DNS rebinding, and ``Origin``, if
present, must be the address of this server.
"""

from __future__ import annotations

import io
import ipaddress
import re
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs

from q2_metric._version import __version__
from q2_metric.errors import InputError, Q2Error, machine_fault
from q2_metric.serve import pages
from q2_metric.serve.explain import Explainer

MOST_BYTES = 2_000_000
"""Of a request. In the encoding of a form, nearly every character takes at most nine bytes."""

MOST_SECONDS = 30.0
"""From the beginning of a connection to the end of its request."""

_READ_AT_ONCE = 65_536
_LENGTH = re.compile(r"[ \t]*(\d+)[ \t]*", re.A)
_HOST = re.compile(r"(?P<name>\[[\da-f:.]+\]|[\w.-]+)(:(?P<port>\d{1,5}))?", re.A | re.I)
_FIELDS = ("answer", "sources", "question")
_FORM = "application/x-www-form-urlencoded"
_HINT = "Enter an answer and its sources. The result appears here."


class Server(ThreadingHTTPServer):
    """Listens as soon as it is created; replies only while :meth:`serve_forever` runs, before which
    the caller sets ``explainer``. ``port`` 0 is any free port. Raises InputError if the server
    cannot listen on this interface and port."""

    daemon_threads = True
    explainer: Explainer

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        try:
            [(self.address_family, *_, where), *_] = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            super().__init__(where[:2], _Handler)  # type: ignore[arg-type]
        except OSError as error:
            raise InputError(f"cannot listen on {host}, port {port}: {error.strerror or error}; "
                             "choose another with --port or --host") from error

    def server_bind(self) -> None:
        """Unlike the base class, does not look up the host name, which could use the network."""
        TCPServer.server_bind(self)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}/"

    @property
    def is_local(self) -> bool:
        """Whether other machines cannot reach the server."""
        return ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this server; if not, another website may be behind it."""
        parts = _HOST.fullmatch(host)
        if parts is None or int(parts["port"] or 80) != self.server_address[1]:
            return False
        name = parts["name"].strip("[]").lower()
        return name in ("localhost", self.host.lower()) or _is_address(name)

    def shutdown_request(self, request: Any) -> None:
        """Closes a connection, after reading the rest of the request within limits: closing the
        socket before would discard the reply."""
        rest = _Timely(request, _LINGERS)
        with suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            left = 10 * MOST_BYTES
            while left > 0 and (piece := rest.read(_READ_AT_ONCE)):
                left -= len(piece)
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores browsers that disconnect or send nothing."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


_LINGERS = 10.0
"""Seconds in which the rest of a request is read."""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Timely(io.RawIOBase):
    """Reads from a socket for some seconds only, also if a client sends a byte now and then."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection, self._until = connection, time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = f"q2-metric/{__version__}", ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_Timely(self.connection, MOST_SECONDS))

    def do_GET(self) -> None:
        self._answer(self._get)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, method: Any) -> None:
        status = HTTPStatus.OK
        try:
            self._check_origin()
            page, policy = method()
        except _Refused as error:
            status, (page, policy) = error.status, pages.message(str(error))
        except Q2Error as error:
            status, (page, policy) = HTTPStatus.BAD_REQUEST, pages.message(str(error))
        except Exception as error:  # the server continues
            self.log_error("%s: %s", type(error).__name__, " ".join(str(error).split()))
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            why = machine_fault(error) or error
            page, policy = pages.message(f"The answer could not be scored: {why}")
        self._send(status, page, policy)

    def _check_origin(self) -> None:
        if not self.server.knows(self.headers.get("Host", "")):
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST,
                           f"This server is at {self.server.url}; the request is for another name.")
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers['Host']}":
            raise _Refused(HTTPStatus.FORBIDDEN, "The request comes from a page of another site.")

    def _get(self) -> tuple[bytes, str]:
        if self.path == "/":
            return pages.form()
        if self.path == "/explanation":
            return pages.message(_HINT)
        raise _Refused(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _post(self) -> tuple[bytes, str]:
        if self.path != "/explanation":
            self._body()
            raise _Refused(HTTPStatus.NOT_FOUND, "There is no such page.")
        fields = self._fields()
        explainer = self.server.explainer
        row = explainer.row(fields["answer"], fields["sources"], fields["question"])
        # The page itself contains a stricter policy. This one also protects the page if it is
        # opened outside the frame of the form.
        return explainer.page(row).encode(), "sandbox allow-scripts; frame-ancestors 'self'"

    def _fields(self) -> Mapping[str, str]:
        body = self._body()
        if self.headers.get_content_type() != _FORM:
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                           f"The body must be {_FORM}, with the fields {', '.join(_FIELDS)}.")
        try:
            form = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict",
                            max_num_fields=len(_FIELDS))
        except ValueError as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, "The body is not a form in UTF-8 with the "
                           f"fields {', '.join(_FIELDS)}.") from error
        # In a form, browsers end each line with CR LF.
        return {name: form.get(name, [""])[0].replace("\r\n", "\n") for name in _FIELDS}

    def _body(self) -> bytes:
        length = self._length()
        try:
            body = self.rfile.read(length)
        except TimeoutError as error:
            raise _Refused(HTTPStatus.REQUEST_TIMEOUT, "The request was not complete after "
                           f"{MOST_SECONDS:g} seconds.") from error
        if len(body) < length:
            raise _Refused(HTTPStatus.BAD_REQUEST, "The request is shorter than it says.")
        return body

    def _length(self) -> int:
        lengths = self.headers.get_all("Content-Length", [])
        if not lengths or "Transfer-Encoding" in self.headers:
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "The request must say how long it is, in "
                           "one header Content-Length.")
        digits = _LENGTH.fullmatch(lengths[0])
        if len(lengths) > 1 or digits is None:
            raise _Refused(HTTPStatus.BAD_REQUEST, "The header Content-Length is not one number.")
        significant = digits[1].lstrip("0") or "0"
        # Python refuses to convert thousands of digits.
        if len(significant) > len(str(MOST_BYTES)) or int(significant) > MOST_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                           f"The texts are too long: this page takes at most {MOST_BYTES:,} bytes. "
                           "Use q2 score for longer texts.")
        return int(significant)

    def _send(self, status: HTTPStatus, page: bytes, policy: str) -> None:
        self.connection.settimeout(MOST_SECONDS)
        self.send_response(status)
        for name, value in {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(page)),
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    def log_request(self, *_: Any) -> None:
        """Requests are not logged."""

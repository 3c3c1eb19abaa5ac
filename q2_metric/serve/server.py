"""The web server of ``q2 serve``: uvicorn, with limits on who may ask, on sizes and on times.

A page of another website could make the user's browser send requests to it. So ``Host`` must be an
IP address, ``localhost`` or the name of the server, which stops DNS rebinding, and ``Origin``, if
present, must be the address of this server.
"""

import asyncio
import ipaddress
import logging
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from q2_metric.errors import InputError

MOST_BYTES = 2_000_000
"""Of a request. In the encoding of a form, nearly every character takes at most nine bytes."""

MOST_SECONDS = 30.0
"""For the head of a request, and for its body. Also for open requests, when the server stops."""

MOST_CONNECTIONS = 256

_HOST = re.compile(r"(?P<name>\[[\da-f:.]+\]|[\w.-]+)(:(?P<port>\d{1,5}))?", re.A | re.I)
_CLOSE = {"Connection": "close"}


class Server:
    """Listens as soon as it is created; replies only during :meth:`run`. ``port`` 0 is any free
    port. Raises InputError if the server cannot listen on this interface and port."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        try:
            [(family, *_, where), *_] = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            self.socket = socket.create_server(where[:2], family=family)
            # asyncio sets it only for sockets that name the protocol; else a reply takes 40 ms.
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise InputError(f"cannot listen on {host}, port {port}: {error.strerror or error}; "
                             "choose another with --port or --host") from error
        self.address: tuple[str, int] = self.socket.getsockname()[:2]

    def run(self, app: ASGIApp, started: Callable[[], None] = lambda: None) -> None:
        """Replies until Ctrl-C (KeyboardInterrupt) or SIGTERM. Open requests are finished first,
        within :data:`MOST_SECONDS`. ``started`` is called when the server replies and can be
        stopped by a signal."""
        config = uvicorn.Config(
            self._closing(app), http=_Timely, ws="none", loop="asyncio", log_config=None,
            log_level=logging.ERROR, access_log=False, server_header=False, proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS, timeout_graceful_shutdown=int(MOST_SECONDS))
        self.running = _Announced(config, started)
        with asyncio.Runner() as runner:
            runner.get_loop()  # A Ctrl-C while it is made leaves no coroutine behind.
            runner.run(self.running.serve(sockets=[self.socket]))

    def _closing(self, app: ASGIApp) -> ASGIApp:
        """When the server stops, replies tell clients to send no more on their connections."""

        async def called(scope: Scope, receive: Receive, send: Send) -> None:
            async def told(message: Any) -> None:
                if message["type"] == "http.response.start" and self.running.should_exit:
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
                await send(message)

            await app(scope, receive, told)

        return called

    def close(self) -> None:
        self.socket.close()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.address[1]}/"

    @property
    def is_local(self) -> bool:
        """Whether other machines cannot reach the server."""
        return ipaddress.ip_address(self.address[0]).is_loopback

    def check(self, headers: Headers) -> None:
        """Refuses requests that pages of other websites made the user's browser send."""
        if not self._knows(headers.get("host", "")):
            raise HTTPException(421, f"This server is at {self.url}; the request is for another "
                                "name.")
        if headers.get("origin", f"http://{headers['host']}") != f"http://{headers['host']}":
            raise HTTPException(403, "The request comes from a page of another site.")

    def _knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this server; if not, another website may be behind it."""
        parts = _HOST.fullmatch(host)
        if parts is None or int(parts["port"] or 80) != self.address[1]:
            return False
        name = parts["name"].strip("[]").lower()
        with suppress(ValueError):
            return name in ("localhost", self.host.lower()) or bool(ipaddress.ip_address(name))
        return False


class Guard:
    """Lets a request in if ``check`` of its headers raises no HTTPException."""

    def __init__(self, app: ASGIApp, check: Callable[[Headers], None]) -> None:
        self.app, self.check = app, check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.check(Headers(scope=scope))
        await self.app(scope, receive, send)


def check_type(request: Request, media_type: str, words: str) -> None:
    """HTTPException, in which ``words`` say what the body must be, if it has another type."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != media_type:
        raise HTTPException(415, f"The body must be {words}.")


async def body(request: Request) -> bytes:
    """The body of a request; HTTPException if it is too long, too slow or incomplete. A body that
    is too long is read within limits: closing the connection before would discard the reply."""
    read, size = bytearray(), 0
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                read += piece if size <= MOST_BYTES else b""
                if size > 10 * MOST_BYTES:
                    break
    except TimeoutError as error:
        raise HTTPException(408, "The request was not complete after "
                            f"{MOST_SECONDS:g} seconds.", _CLOSE) from error
    except ClientDisconnect as error:
        raise HTTPException(400, "The request is shorter than it says.") from error
    if size > MOST_BYTES:
        raise HTTPException(413, f"The texts are too long: a request has at most {MOST_BYTES:,} "
                            "bytes. Use q2 score for longer texts.", _CLOSE)
    return bytes(read)


class _Announced(uvicorn.Server):
    """Calls ``started`` outside the application, which would log its error with a traceback. If
    ``started`` cannot write, the application is stopped first, for the same reason."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        try:
            self._started()
        except OSError:
            await self.shutdown(sockets)
            raise


class _Timely(H11Protocol):
    """Closes a connection on which the head of a request is not complete in time. uvicorn would
    wait for ever."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._late.cancel()
        elif self._late.cancelled():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(MOST_SECONDS, self.transport.abort)

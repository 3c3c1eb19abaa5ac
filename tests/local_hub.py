"""A Hub on this machine: folders ``owner/model``, served as huggingface.co serves repositories.

``HF_ENDPOINT`` leads huggingface_hub to it. Each answer has the headers that the library reads:
the commit, an ETag, and the kind of an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class LocalHub:
    """Serves the models of a folder; it remembers what it was asked for.

    Attributes:
        endpoint: its address, for ``HF_ENDPOINT``.
        requests: method and path of each request, in their order.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.requests: list[str] = []
        hub = self

        class Handler(_Handler):
            def handle_one(self, body: bool) -> None:
                hub.requests.append(f"{self.command} {self.path}")
                hub.answer(self, urlsplit(self.path).path, body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def environment(self, cache: Path) -> dict[str, str]:
        """The environment of a fresh user of this Hub, whose models go into ``cache``."""
        own = {name: value for name, value in os.environ.items()
               if not name.startswith(("HF_", "HUGGING", "TRANSFORMERS_", "Q2_"))}
        return {**own, "HF_ENDPOINT": self.endpoint, "HF_HOME": str(cache / "hub"),
                "HF_HUB_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1",
                "XDG_CACHE_HOME": str(cache / "cache")}

    def downloads(self) -> list[str]:
        """The files whose content was asked for, as ``owner/model/file``."""
        gets = (one.removeprefix("GET /") for one in self.requests if one.startswith("GET /"))
        return [f"{name}/{rest.split('/', 1)[1]}" for name, _, rest in
                (one.partition("/resolve/") for one in gets) if rest]

    @contextmanager
    def serving(self) -> Iterator[LocalHub]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def answer(self, to: _Handler, path: str, body: bool) -> None:
        """One request: a file, what is known of a repository, or an error as the Hub words it."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if api else parts[:2])
        folder = self.root / name
        if not folder.is_dir():
            to.refuse(401 if api else 404, "RepoNotFound")
        elif api:
            self._api(to, name, folder, parts[4:])
        elif parts[2:3] == ["resolve"] and len(parts) > 4:
            self._file(to, folder, parts[3], folder.joinpath(*parts[4:]), body)
        else:
            to.refuse(404, "EntryNotFound")

    def _file(self, to: _Handler, folder: Path, revision: str, file: Path, body: bool) -> None:
        commit = commit_of(folder)
        if revision not in ("main", commit):
            to.refuse(404, "RevisionNotFound")
        elif not file.is_file():
            to.refuse(404, "EntryNotFound", commit)
        else:
            content = file.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            to.send(200, content if body else b"", {
                "X-Repo-Commit": commit, "ETag": f'"{digest}"', "Accept-Ranges": "bytes",
                "Content-Length": str(len(content)),
                "Content-Disposition": f'inline; filename="{file.name}"'})

    def _api(self, to: _Handler, name: str, folder: Path, rest: list[str]) -> None:
        commit = commit_of(folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if rest and rest[0] not in ("revision", "tree"):
            to.refuse(404, "EntryNotFound")  # discussions, conversions, commits
        elif len(rest) > 1 and rest[1] not in ("main", commit):
            to.refuse(404, "RevisionNotFound")
        elif rest[:1] == ["tree"]:
            under = folder.joinpath(*rest[2:])
            if not under.is_dir():
                to.refuse(404, "EntryNotFound", commit)
                return
            entries = [{"type": "file", "path": path.relative_to(folder).as_posix(),
                        "size": path.stat().st_size, "oid": hashlib.sha1(
                            path.read_bytes()).hexdigest()} for path in files
                       if path.is_relative_to(under)]
            to.send_json(entries)
        else:
            to.send_json({
                "_id": "0", "id": name, "modelId": name, "sha": commit, "private": False,
                "gated": False, "disabled": False, "tags": [], "downloads": 0, "likes": 0,
                "lastModified": "2021-01-01T00:00:00.000Z",
                "createdAt": "2021-01-01T00:00:00.000Z",
                "siblings": [{"rfilename": path.relative_to(folder).as_posix(),
                              "size": path.stat().st_size} for path in files]})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one(self, body: bool) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.handle_one(body=True)

    def do_HEAD(self) -> None:
        self.handle_one(body=False)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.handle_one(body=True)

    def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, value: Any) -> None:
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def refuse(self, status: int, code: str, commit: str = "") -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": code}
        self.send(status, b"", headers | ({"X-Repo-Commit": commit} if commit else {}))

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests read what the program under test says."""


def commit_of(folder: Path) -> str:
    """The commit of a served repository: 40 digits, the same while its files are."""
    state = [(path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns)
             for path in sorted(folder.rglob("*"))]
    return hashlib.sha1(repr(state).encode()).hexdigest()

"""Scoring offline sends nothing and leaves no file of others behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

CODE = """
import builtins, os, sys

found, real = [], builtins.__import__

def watching(name, *arguments, **keywords):
    if name.split(".")[0] == "onnxruntime" and not found:
        found.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
    return real(name, *arguments, **keywords)

builtins.__import__ = watching
from q2_metric import Example, Q2
Q2.from_preset("bundled").score([Example("Rome has 7 hills.", "Rome has seven hills.")])
assert "onnxruntime" in sys.modules
print(found)
"""


def run(words: Sequence[str], home: Path, **chosen: str) -> str:
    """What a command with a fresh home prints."""
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "Q2_NO_REGISTER": "1"}
    done = subprocess.run(
        words, env={**kept, **places, **chosen},
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


NAMELESS = """
# Alone in a namespace: whoever looks a name up asks us.
import fcntl, select, socket, struct, subprocess, sys

with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))  # "lo" is up
subprocess.run(["mount", "--bind", sys.argv[1], "/etc/resolv.conf"], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
subprocess.run([sys.executable, "-c", sys.argv[2]], check=True)
asked = 0
while select.select([server], [], [], 0.2)[0]:
    server.recv(512)
    asked += 1
print(asked)
"""
LOOK_UP = """
import socket
try:
    socket.getaddrinfo("events.example", 443)
except OSError:
    pass
"""


ALONE = ["unshare", "--user", "--map-root-user", "--net", "--mount"]


@pytest.mark.slow
def test_onnx_runtime_reports_nothing(tmp_path: Path) -> None:
    """It is told so before it is imported: no device id and no queue is written.

    Nor is a name looked up, where there is no network and we are the server for names; where
    namespaces are not allowed, only the files are looked at.
    """
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    (home := tmp_path / "home").mkdir()

    def alone(code: str) -> list[str]:
        return run([*ALONE, sys.executable, "-c", NAMELESS, str(resolv), code], home).split()

    if shutil.which("unshare") and not subprocess.run([*ALONE, "true"], check=False).returncode:
        assert int(alone(LOOK_UP)[-1]) > 0, "the test sees no look-ups"
        assert alone(CODE) == ["['1']", "0"]
    else:
        assert run([sys.executable, "-c", CODE], home) == "['1']"
    assert [path for path in home.rglob("*") if path.is_file()] == []

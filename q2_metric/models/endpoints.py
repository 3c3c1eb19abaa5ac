"""A model on a server with OpenAI's chat route: vLLM, Ollama, llama.cpp, a hosted model.

Its name is ``openai:MODEL@URL``, such as ``openai:qwen3:4b@http://localhost:11434/v1``. The key, if
the server needs one, is the environment variable ``Q2_ENDPOINT_KEY``.
"""

import functools
import http.client
import json
import math
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from q2_metric.errors import InputError, MachineFault, ModelError
from q2_metric.memory import LruCache
from q2_metric.models.presets import ENDPOINT

KEY = "Q2_ENDPOINT_KEY"

TOGETHER, TRIES = 8, 6
"""Requests at the same time, and tries of each."""
FIRST_WAIT, LONGEST_WAIT, SECONDS = 0.5, 60.0, 120.0
"""A failed request is repeated after 0.5 seconds, 1 second, 2 seconds and so on, or when the server
says. A request has failed after 120 seconds without a byte from the server."""

TOP = 20
"""Most likely tokens that are asked for; the most that OpenAI and vLLM give."""

_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_MOST_BYTES = 10_000_000
_HINTS = {**dict.fromkeys((401, 403), f"; set {KEY} to the server's key"),
          404: "; check the name of the model, and if the URL ends in /v1"}

Chances = Mapping[str, float]
"""The probabilities of a reply's possible first tokens."""


class Reply(NamedTuple):
    text: str
    chances: Chances


@dataclass(slots=True)
class Cost:
    """What the requests to an endpoint cost in this process. Tokens are counted by the server.
    With SCALE's setting ``escalate``, ``escalated`` of the ``claims`` were sent."""

    model: str
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    escalated: int = 0
    claims: int = 0

    def count(self, escalated: int, claims: int) -> None:
        self.escalated += escalated
        self.claims += claims

    def __str__(self) -> str:
        sent = f"{self.escalated:,} of {self.claims:,} claims sent, " if self.claims else ""
        return (f"{self.model}: {sent}{self.requests:,} requests, {self.prompt_tokens:,} tokens "
                f"read, {self.completion_tokens:,} written")


class Endpoint:
    """Asks one model on one server. Use :func:`endpoint`, so that stages share it. InputError: the
    name is not ``openai:MODEL@URL``, or the URL has more than a place."""

    def __init__(self, name: str) -> None:
        whole, _, votes = name.removeprefix(ENDPOINT).partition("#votes=")
        self.model, _, place = whole.rpartition("@http")
        self.url = f"http{place}".rstrip("/")
        _check(self.model, self.url, votes)
        self.votes = int(votes or 0)
        self.name = f"{ENDPOINT}{self.model}" + (f"[votes={votes}]" if votes else "")
        self.cost = Cost(f"{ENDPOINT}{self.model}@{self.url}")
        # If one row of a batch fails, the others are not asked about again.
        self._known: LruCache[str, Reply] = LruCache(20_000, 50_000_000)
        self._open = urllib.request.build_opener(_NoRedirects).open

    def texts(self, prompts: Sequence[str], most_tokens: int) -> list[str]:
        """The replies to prompts, with the errors of :meth:`chances`."""
        return [reply.text.rpartition("</think>")[2].strip()
                for reply in self._ask(prompts, {"max_tokens": most_tokens})]

    def chances(self, prompts: Sequence[str], answers: Sequence[str]) -> list[list[float]]:
        """For each prompt, the probability of each of the answers as its first token, in a softmax
        over these answers only. With ``#votes=N``, the share of N sampled replies instead.
        MachineFault: the server cannot be reached, refuses the key, does not know the model, or
        gives no probabilities; or it failed :data:`TRIES` times. ModelError: the server refuses a
        prompt, or the model replies with none of the answers."""
        if not self.votes:
            replies = self._ask(prompts, {"max_tokens": 1, "logprobs": True, "top_logprobs": TOP})
            return [self._shares(answers, [reply.chances]) for reply in replies]
        replies = self._ask(prompts, *({"max_tokens": 5, "temperature": 1, "seed": seed}
                                       for seed in range(self.votes)))
        said = [{reply.text: 1.0} for reply in replies]
        return [self._shares(answers, said[first:first + self.votes])
                for first in range(0, len(said), self.votes)]

    def _shares(self, answers: Sequence[str], replies: Sequence[Chances]) -> list[float]:
        totals = dict.fromkeys((answer.casefold() for answer in answers), 0.0)
        for chances in replies:
            for token, chance in chances.items():
                # Tokenizers mark a word's beginning by a blank, "▁" or "Ġ".
                word = (token.strip(" \n\t▁Ġ.,:*\"'()").split() or [""])[0].strip(".,:").casefold()
                if word in totals:
                    totals[word] += chance
        if not (whole := math.fsum(totals.values())):
            said = max(replies[0], key=lambda token: replies[0][token], default="")
            raise ModelError(f"{self.name} begins its reply with {said[:40]!r}, not with one of "
                             f"{', '.join(answers)}; if the model thinks first, turn this off")
        return [chance / whole for chance in totals.values()]

    def _ask(self, prompts: Sequence[str], *ways: Mapping[str, Any]) -> list[Reply]:
        """A reply to each prompt in each of the ways."""
        bodies = [json.dumps({"model": self.model, "temperature": 0, **way,
                              "messages": [{"role": "user", "content": prompt}]})
                  for prompt in prompts for way in ways]
        found = {body: reply for body in bodies if (reply := self._known.get(body))}
        new = [body for body in dict.fromkeys(bodies) if body not in found]
        with ThreadPoolExecutor(TOGETHER) as pool:
            try:
                for body, (reply, usage) in zip(new, pool.map(self._reply, new), strict=True):
                    found[body] = reply
                    self._known.put(body, reply, len(body))
                    self.cost.requests += 1
                    for name in ("prompt_tokens", "completion_tokens"):
                        if isinstance(tokens := usage.get(name), int):
                            setattr(self.cost, name, getattr(self.cost, name) + tokens)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [found[body] for body in bodies]

    def _reply(self, body: str) -> tuple[Reply, Mapping[str, Any]]:
        why, wait = "", FIRST_WAIT
        for attempt in range(TRIES):
            if attempt:
                time.sleep(min(wait, LONGEST_WAIT) * random.uniform(0.75, 1.25))
                wait = FIRST_WAIT * 2 ** attempt
            try:
                return self._read(self._sent(body), json.loads(body).get("logprobs", False))
            except urllib.error.HTTPError as error:
                why = self._words(error)
                if error.code in (400, 422) and "logprobs" in why and "logprobs" in body:
                    raise self._no_chances() from None
                if error.code not in _BUSY:
                    kind = ModelError if error.code in (400, 413, 422) else MachineFault
                    raise kind(f"{self.cost.model}: {why}{_HINTS.get(error.code, '')}") from None
                with suppress(TypeError, ValueError):
                    wait = max(wait, float(error.headers["Retry-After"]))
            except (OSError, http.client.HTTPException, ValueError) as error:
                why = str(getattr(error, "reason", error)) or type(error).__name__
        raise MachineFault(f"{self.cost.model}: failed {TRIES} times: {why}; is the server running "
                           "there? Finished scores are in the cache")

    def _sent(self, body: str) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "q2-metric"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self.url}/chat/completions", body.encode(), headers)
        with self._open(request, timeout=SECONDS) as reply:
            return json.loads(reply.read(_MOST_BYTES))

    def _read(self, given: Any, probabilities: bool) -> tuple[Reply, Mapping[str, Any]]:
        try:
            choice, usage = given["choices"][0], given.get("usage") or {}
            text = choice["message"].get("content") or ""
            tokens = ((choice.get("logprobs") or {}).get("content") or [{}])[0].get("top_logprobs")
            chances: dict[str, float] = {}
            for one in tokens or ():
                chances[one["token"]] = chances.get(one["token"], 0.0) + math.exp(one["logprob"])
        except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise ValueError("the reply does not have the form of OpenAI's chat route") from error
        if probabilities and not chances:
            raise self._no_chances()
        return Reply(str(text), chances), usage

    def _no_chances(self) -> MachineFault:
        return MachineFault(
            f"{self.cost.model}: gives no top_logprobs; start the server with them, or count "
            f"sampled replies: write {self.cost.model}#votes=5")

    def _words(self, error: urllib.error.HTTPError) -> str:
        # A server may repeat the key in its words.
        with suppress(OSError, http.client.HTTPException):
            text = " ".join(error.read(2_000).decode(errors="replace").split())[:300]
            if key := os.environ.get(KEY):
                text = text.replace(key, "…")
            return f"status {error.code}: {text}"
        return f"status {error.code}"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _check(model: str, url: str, votes: str) -> None:
    """The messages do not quote the URL, which may contain a key."""
    parts = urlsplit(url)
    try:
        right = parts.hostname and parts.port != 0 and parts.scheme in ("http", "https")
    except ValueError:  # the port
        right = False
    more = parts.username is not None or parts.query or parts.fragment
    if more or not model or not right or not url.isascii() or any(map(str.isspace, url)):
        raise InputError(f"a model that begins with {ENDPOINT!r} is written {ENDPOINT}MODEL@URL, "
                         f"such as {ENDPOINT}qwen3:4b@http://localhost:11434/v1; the URL has no "
                         f"user, password or query (a key is the environment variable {KEY})")
    if votes and not (votes.isascii() and votes.isdigit() and 1 <= int(votes) <= 100):
        raise InputError(f"votes={votes}: the number of sampled replies must be 1 to 100")


endpoint = functools.cache(Endpoint)

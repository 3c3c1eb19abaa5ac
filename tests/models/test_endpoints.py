"""Models on a server: what is asked, and what happens if the server fails. The server is real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeServer, drops, hangs, serving, status, text

from q2_metric import Example, InputError, Q2Error, scoring
from q2_metric.errors import MachineFault, ModelError
from q2_metric.metrics import load_metrics
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.signature import parse
from q2_metric.models import endpoints, stages
from q2_metric.models.chat import ChatNli, ChatReader
from q2_metric.models.endpoints import Endpoint
from q2_metric.models.hub.yes_no import PROMPTS

KNOWLEDGE = "The tower opened in 1889. It is 330 metres tall."


def model(prompt: str) -> str | dict[str, float]:
    """Reads years: a claim is supported if its year is in the text."""
    if asks := re.search(r"Question: does this imply", prompt, re.IGNORECASE):
        chunk, claim = prompt[: asks.start()], prompt[asks.end() :]
        right = all(year in chunk for year in re.findall(r"\d{4}", claim))
        return {"Yes": 0.5, " yes": 0.1, "No": 0.15, "Maybe": 0.2} if right else {
            "▁No": 0.8, "Yes": 0.2}
    if prompt.startswith("Premise:"):
        premise, _, said = prompt.partition("Statement:")
        same = re.findall(r"\d{4}", premise) == re.findall(r"\d{4}", said.partition("Which")[0])
        return {"A": 0.7, "B": 0.1, "C": 0.2} if same else {"A": 0.1, "B": 0.2, "C": 0.7}
    if "Write one short question" in prompt:
        return "When did the tower open?"
    read = prompt.partition("\n\nQuestion:")[0]
    found = re.search(r"\d{4}", read)
    return f'"{found[0]}."' if found else "NO ANSWER."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.delenv(endpoints.KEY, raising=False)
    monkeypatch.setattr(endpoints, "FIRST_WAIT", 0.01)
    with serving(model) as found:
        yield found


def scale(server: FakeServer, name: str | None = None) -> Any:
    return load_metrics(["scale"], scale_model=name or server.model)[0]


def test_scale_asks_for_one_token(server: FakeServer) -> None:
    metric = scale(server)
    right, wrong = metric.score([Example("It opened in 1889.", KNOWLEDGE),
                                 Example("It opened in 1901.", KNOWLEDGE)])
    assert right.value == pytest.approx(0.6 / 0.75)
    assert wrong.value == pytest.approx(0.2)
    request = server.requests[0]
    assert f'{KNOWLEDGE} Question: does this imply "It opened in 1889."? Yes or no?' in [
        one["messages"][0]["content"] for one in server.requests]
    assert (request["max_tokens"], request["temperature"], request["top_logprobs"]) == (1, 0, 20)
    assert request["model"] == "tiny"
    assert "backbone:openai%3Atiny|" in metric.signature
    assert "127.0.0.1" not in metric.signature


def test_a_prompt_can_be_chosen(server: FakeServer) -> None:
    load_metrics(["scale"], scale_model=server.model, prompt="scale-score")[0].score(
        [Example("It opened in 1889.", KNOWLEDGE)])
    assert server.requests[0]["messages"][0]["content"].endswith(
        'Question: Does this imply that "It opened in 1889."? Yes or No?')
    with pytest.raises(InputError, match="unknown prompt 'other'"):
        load_metrics(["scale"], scale_model=server.model, prompt="other")


def test_long_knowledge_is_cut_into_chunks(server: FakeServer) -> None:
    metric = load_metrics(["scale"], scale_model=server.model, chunk_size=20)[0]
    [score] = metric.score([Example("It opened in 1889.", "".join(
        f"Day {day} was fine. " for day in range(30)) + KNOWLEDGE)])
    assert len(server.requests) > 5
    assert score.value == pytest.approx(0.8)


def test_all_stages_of_q2_can_be_prompts(server: FakeServer) -> None:
    asked = {"question_model": server.model, "reader_model": server.model,
             "nli_model": server.model}
    [metric] = load_metrics(["q2"], **asked)
    right, wrong = metric.score([Example("The tower opened in 1889.", KNOWLEDGE),
                                 Example("The tower opened in 1901.", KNOWLEDGE)])
    [comparison] = right.evidence
    assert comparison.question.text == "When did the tower open?"
    assert (comparison.knowledge_answer, comparison.knowledge_start) == ("1889", 20)
    assert (right.value, wrong.value) == (1, 0)
    [comparison] = wrong.evidence
    assert (comparison.response_answer, comparison.knowledge_answer) == ("1901", "1889")
    assert comparison.verdict.contradiction == pytest.approx(0.7)
    for stage in ("qg", "reader", "nli"):
        assert f"{stage}:openai%3Atiny|" in metric.signature


@pytest.mark.parametrize(("reply", "found"), [
    ("1889", ("1889", 20)), ('"1889".', ("1889", 20)), ("THE TOWER", ("The tower", 0)),
    ("<think>Hm, 330.</think>\n1889", ("1889", 20)), ("NO ANSWER", None), ("No answer.", None),
    ("", None), ("in the year 89", ("in the year 89", None)), ("1889\nbecause", ("1889", 20)),
])
def test_answers_are_found_in_the_text(reply: str, found: tuple[str, int | None] | None) -> None:
    with serving(lambda _prompt: reply) as server:
        [answer] = ChatReader(Endpoint(server.model)).read([("When?", KNOWLEDGE)])
    assert found == (None if answer is None else (answer.text, answer.start))


@pytest.mark.parametrize("fault", [
    status(500), status(429), status(503, Retry_After="0"), status(429, Retry_After="soon"), drops,
    text("{"), text("[]"), text('{"choices": []}'), text('{"choices": [{"message": null}]}'),
    text('{"error": "busy"}'), hangs,
])
def test_a_request_that_fails_is_repeated(
    server: FakeServer, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "SECONDS", 1.0)  # a busy machine answers later
    server.faults = [fault, fault]
    [score] = scale(server).score([Example("It opened in 1889.", KNOWLEDGE)])
    assert score.value == pytest.approx(0.8)
    assert len(server.requests) == 3


def test_the_server_says_when_to_try_again(server: FakeServer) -> None:
    import time

    server.faults = [status(429, Retry_After="1")]
    began = time.monotonic()
    ChatNli(Endpoint(server.model)).judge([("a", "b")])
    assert 0.7 < time.monotonic() - began < 5


@pytest.mark.parametrize(("fault", "words"), [
    (status(401, "bad key sesame"), "status 401: bad key …; set Q2_ENDPOINT_KEY"),
    (status(404, "no model tiny"), "status 404: no model tiny; check the name of the model"),
    (status(302, Location="http://evil.example/"), "status 302"),
    (text(json.dumps({"choices": [{"message": {"content": "Yes"}}]})),
     "gives no top_logprobs; .*write openai:tiny@.*#votes=5"),
    (status(422, "Unsupported fields in the request: {'logprobs'}"), "gives no top_logprobs"),
    (status(500), "failed 6 times: status 500: no; is the server running there"),
    (text("<html>"), "failed 6 times"),
])
def test_a_server_that_cannot_do_it_stops_the_run(
    server: FakeServer, fault: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(endpoints.KEY, "sesame")
    server.faults = [fault] * 100
    with pytest.raises(MachineFault, match=words) as error:
        scoring.score([scale(server)], [Example("It opened in 1889.", KNOWLEDGE)] * 2,
                      on_fault=lambda *_: None)
    assert "sesame" not in str(error.value)
    assert set(server.keys) == {"Bearer sesame"}
    assert len(server.requests) <= 6


def test_no_server(server: FakeServer) -> None:
    with pytest.raises(MachineFault, match=r"failed 6 times: .*refused.*is the server running"):
        scale(server, "openai:tiny@http://127.0.0.1:9/v1").score(
            [Example("It opened in 1889.", KNOWLEDGE)])


def test_a_row_that_the_server_refuses_harms_no_other(server: FakeServer) -> None:
    """And the others are not asked about twice."""
    def picky(prompt: str) -> str | dict[str, float]:
        return "What?" if "1850" in prompt else model(prompt)

    server.answer = picky
    faults: list[tuple[int, str]] = []
    rows = [Example(f"It opened in {year}.", KNOWLEDGE) for year in (1889, 1850, 1901)]
    scored = scoring.score([scale(server)], rows, on_fault=lambda *fault: faults.append(fault))
    assert [one["scale"].value for one in scored] == pytest.approx([0.8, None, 0.2])
    [(place, words)] = faults
    assert place == 1
    assert "begins its reply with 'What?', not with one of Yes, No" in words
    asked = [request["messages"][0]["content"] for request in server.requests]
    assert all(asked.count(one) == 1 for one in asked if "1850" not in one)


def test_replies_can_be_counted_instead(server: FakeServer) -> None:
    """For servers that give no probabilities."""
    replies = ["Yes", "Yes.", "no", "**No**", "yes, it does"]
    server.answer = lambda prompt: replies.pop()
    metric = scale(server, f"{server.model}#votes=5")
    [score] = metric.score([Example("It opened in 1889.", KNOWLEDGE)])
    assert score.value == pytest.approx(3 / 5)
    assert sorted(request["seed"] for request in server.requests) == [0, 1, 2, 3, 4]
    assert all("logprobs" not in request for request in server.requests)
    assert "openai%3Atiny[votes=5]" in metric.signature


UNSURE = Example("Visitors like the view. The tower is 330 metres high. It was painted blue.",
                 f"{KNOWLEDGE} Many guests praised what they saw in 1889.")


def around_the_first() -> tuple[list[float], str]:
    """The support of each claim without escalation, and a band that has only that of the first."""
    [alone] = load_metrics(["scale"])
    first = [judged.support for judged in alone.score([UNSURE])[0].evidence]
    assert len(set(first)) == 3
    return first, f"{first[0] - 1e-4:.7f},{first[0] + 1e-4:.7f}"


def test_only_undecided_claims_are_sent(server: FakeServer) -> None:
    first, within = around_the_first()
    server.answer = lambda prompt: {"Yes": 0.25, "No": 0.75}
    [metric] = load_metrics(["scale"], scale_model=server.model, escalate=within)
    cost = endpoints.endpoint(server.model).cost
    for evidence in (False, True):
        [score] = metric.score([UNSURE], evidence=evidence)
        [request] = server.requests
        assert request["messages"][0]["content"] == (
            f'{UNSURE.knowledge} Question: does this imply "Visitors like the view."? Yes or no?')
        assert [judged.support for judged in score.evidence] == pytest.approx([0.25, *first[1:]])
        assert score.evidence[0].verdict == "not found"
        assert score.value == pytest.approx((0.25 + sum(first[1:])) / 3)
    assert (cost.escalated, cost.claims, cost.requests) == (2, 6, 1)
    assert "2 of 6 claims sent, 1 requests" in str(cost)
    signed = parse(metric.signature)[1]
    assert signed["escalate"] == within
    assert signed["escalated_to"] == f"openai:tiny,{PROMPTS['scale'].text}"
    assert signed["backbone"].startswith("bundled")


def test_a_rule_is_not_overruled(server: FakeServer) -> None:
    row = Example("It opened in 1901.", KNOWLEDGE)
    [metric] = load_metrics(["scale"], scale_model=server.model, escalate="0,1")
    [judged] = metric.score([row])[0].evidence
    assert (judged.ruling, server.requests) == ("contradicted", [])
    assert metric.score([UNSURE])[0].value == pytest.approx(0.8)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "wrong", ["0.3", "0.7,0.3", "0.3,0.3", "-1,2", "a,b", "0,nan", "0,.5,1", ""])
def test_a_wrong_band(server: FakeServer, wrong: str) -> None:
    with pytest.raises(InputError, match=r"escalate must be two numbers .* such as 0\.3,0\.7"):
        load_metrics(["scale"], scale_model=server.model, escalate=wrong)


def test_a_band_needs_an_endpoint() -> None:
    with pytest.raises(InputError, match="escalate needs an endpoint: scale_model=openai:MODEL"):
        Scale.from_preset(scale_model="some/model", escalate="0.3,0.7")
    with pytest.raises(InputError, match="escalate needs an endpoint: scale_model=openai:MODEL"):
        load_metrics(["scale"], escalate="0.3,0.7")


def test_the_command_says_how_many_claims_were_sent(server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(
        {"response": UNSURE.response, "knowledge": UNSURE.knowledge}) + "\n")
    options = ("-s", f"escalate={around_the_first()[1]}")
    words = f"openai:tiny@{server.url}: 1 of 3 claims sent, 1 requests, 50 tokens read"
    assert words in run(tmp_path, server, *options).stderr


def test_requests_at_the_same_time_are_bounded(server: FakeServer) -> None:
    pairs = [(KNOWLEDGE, f"It opened in {year}.") for year in range(1800, 1860)]
    ChatNli(Endpoint(server.model)).judge(pairs)
    assert 1 < server.most_at_once <= endpoints.TOGETHER
    assert len(server.requests) == 60


@pytest.mark.parametrize(("name", "words"), [
    ("openai:tiny", "is written openai:MODEL@URL"),
    ("openai:@http://localhost/v1", "is written openai:MODEL@URL"),
    ("openai:tiny@localhost:8000/v1", "is written openai:MODEL@URL"),
    ("openai:tiny@http://:80/v1", "is written openai:MODEL@URL"),
    ("openai:tiny@http://localhost:99999/v1", "is written openai:MODEL@URL"),
    ("openai:tiny@http://local host/v1", "is written openai:MODEL@URL"),
    ("openai:tiny@http://me:sesame@host/v1", "no user, password or query"),
    ("openai:tiny@http://host/v1?key=sesame", "no user, password or query"),
    ("openai:tiny@http://host/v1#votes=0", "votes=0: the number"),
    ("openai:tiny@http://host/v1#votes=x", "votes=x: the number"),
])
def test_a_wrong_name(name: str, words: str) -> None:
    for keyword, metric in (("scale_model", "scale"), ("reader_model", "q2")):
        with pytest.raises(Q2Error, match=words) as error:
            load_metrics([metric], **{keyword: name})
        assert "sesame" not in str(error.value)


def test_a_name_may_have_colons_and_signs() -> None:
    found = Endpoint("openai:owner/qwen3:4b@q4@https://host/v1/")
    assert (found.model, found.url) == ("owner/qwen3:4b@q4", "https://host/v1")


def test_the_authors_recipe_needs_a_transformers_model(server: FakeServer) -> None:
    with pytest.raises(InputError, match="needs a transformers reader"):
        stages.load_reader(model=server.model, authors=True)


def run(folder: Path, server: FakeServer, *options: str, **variables: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "q2_metric", "score", "rows.jsonl", "--metrics", "scale",
         "-s", f"scale_model={server.model}", "--cache", "cache.db", *options], cwd=folder,
        env={**os.environ, **variables}, capture_output=True, text=True)


def test_the_command_resumes_counts_tokens_and_keeps_the_key(
    server: FakeServer, tmp_path: Path
) -> None:
    years = range(1860, 1900)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(
        {"response": f"It opened in {year}.", "knowledge": KNOWLEDGE}) + "\n" for year in years))
    stop = [status(401, "sesame")] * 1000

    def failing(prompt: str) -> str | dict[str, float]:
        if len(server.requests) > 20 and not server.faults:
            server.faults = stop
        return model(prompt)

    server.answer = failing
    key = {endpoints.KEY: "sesame"}
    first = run(tmp_path, server, "--out", "out.jsonl", "--no-texts", **key)
    assert first.returncode == 3
    assert "status 401" in first.stderr
    before = len(server.requests)
    server.answer, server.faults = model, []
    second = run(tmp_path, server, "--out", "out.jsonl", **key)
    assert second.returncode == 0, second.stderr
    done = len(server.requests) - before
    assert f"openai:tiny@{server.url}: {done} requests, {50 * done:,} tokens read" in second.stderr
    again = run(tmp_path, server, "--out", "again.jsonl", "--json", **key)
    report = json.loads(again.stdout)
    assert len(server.requests) == before + done  # all scores are in the cache
    assert "endpoints" not in report
    assert report["files"][0]["rows"] == 40
    fresh = json.loads(run(tmp_path, server, "--json", "--no-cache", "--cache", "new.db",
                           **key).stdout)
    assert fresh["endpoints"] == [{
        "model": server.model, "requests": 40, "prompt_tokens": 2000, "completion_tokens": 40,
        "escalated": 0, "claims": 0}]
    for path in tmp_path.iterdir():
        assert b"sesame" not in path.read_bytes()
    assert "sesame" not in first.stderr + second.stderr + again.stdout


def test_errors_of_a_row_are_no_faults_of_the_machine() -> None:
    assert not ModelError("x").fails_every_row
    assert MachineFault("x").fails_every_row

"""The guardrail route, asked by LiteLLM's own client, and by requests that it never sends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from optional import needs
from test_api import ask
from test_stream import running

ROUTE = "/beta/litellm_basic_guardrail_api"
TOOL = [{"role": "user", "content": "When did it open?"},
        {"role": "tool", "tool_call_id": "1", "content": "The tower opened in 1889."}]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running("groundedness") as found:
        yield found


def body(text: Any, **more: Any) -> dict[str, Any]:
    return {"texts": [text], "input_type": "response", **more}


@pytest.mark.parametrize(("given", "action"), [
    (body("It opened in 1889.", structured_messages=TOOL), "NONE"),
    (body("It opened in 1901.", structured_messages=TOOL), "BLOCKED"),
    (body("It opened in 1901.", additional_provider_specific_params={
        "knowledge": ["It opened in 1901."]}, structured_messages=TOOL), "NONE"),
    (body("It opened in 1901.", additional_provider_specific_params={
        "threshold": 0}, structured_messages=TOOL), "NONE"),
    (body("lol", structured_messages=TOOL), "NONE"),
    (body("It opened in 1901.", structured_messages=TOOL[:1]), "NONE"),  # nothing to compare with
    (body("It opened in 1901.", structured_messages=None), "NONE"),
    ({**body("It opened in 1901.", structured_messages=TOOL), "input_type": "request"}, "NONE"),
])
def test_what_is_blocked(port: int, given: dict[str, Any], action: str) -> None:
    status, answer, _ = ask(port, "POST", ROUTE, given)
    assert (status, answer["action"]) == (200, action)
    if action == "BLOCKED":
        assert "contradicted: It opened in 1901." in answer["blocked_reason"]


@pytest.mark.parametrize(("given", "words"), [
    ([], "a list texts"), ({"texts": 3}, "a list texts"), ({"texts": ["x"] * 65}, "at most 64"),
    (body(3, structured_messages=TOOL), "a list texts"),
    (body("x", additional_provider_specific_params={"threshold": 2}), "threshold must be"),
    (body("x", additional_provider_specific_params={"knowledge": 3}), "texts[0]: the knowledge"),
    (body("x", additional_provider_specific_params=["knowledge"]), "a list texts"),
    (body("x", structured_messages="tool"), "a list texts"),
    (body("x", structured_messages=[{"role": "tool", "content": 3}]), "texts[0]"),
])
def test_a_malformed_request(port: int, given: Any, words: str) -> None:
    status, answer, _ = ask(port, "POST", ROUTE, given)
    assert (status, words in answer["error"]) == (400, True), answer


def test_litellms_own_client(port: int) -> None:
    needs("litellm")
    from litellm.exceptions import GuardrailRaisedException
    from litellm.proxy.guardrails.guardrail_hooks.generic_guardrail_api import (
        generic_guardrail_api,
    )

    guardrail = generic_guardrail_api.GenericGuardrailAPI(
        api_base=f"http://127.0.0.1:{port}", api_key="unused", guardrail_name="q2")

    def said(text: str) -> Any:
        return asyncio.run(guardrail.apply_guardrail(
            {"texts": [text], "structured_messages": TOOL}, {}, "response"))

    assert said("It opened in 1889.")["texts"] == ["It opened in 1889."]
    with pytest.raises(GuardrailRaisedException, match=r"contradicted: It opened in 1901\."):
        said("It opened in 1901.")

"""Routes by which gateways ask about answers: the vLLM semantic router and LiteLLM.

The router asks a chat model with a fixed prompt which spans of an answer its context does not
support; the route reads the prompt. LiteLLM's Generic Guardrail API blocks a response that its
knowledge does not support.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException

from q2_metric.errors import InputError
from q2_metric.rows.plain import REASONS
from q2_metric.rows.record import value_of
from q2_metric.scoring import check_threshold
from q2_metric.scoring.verdict import GATED, THRESHOLD, claim_words, falls_short, unsupported
from q2_metric.serve.queue import MOST_ROWS, ScoreRows, row_of
from q2_metric.text.given import all_text

_CONTEXT, _ANSWER = "\n\nExcerpt 1:\n", "\n\nAnswer to verify:\n"
_PROMPT = re.compile(f"User request: (.*){_CONTEXT}(.*){_ANSWER}(.*)", re.S)
_PASS = {"action": "NONE"}


async def detection(given: Any, score: ScoreRows) -> dict[str, Any]:
    """A chat completion with the unsupported claims as JSON. HTTPException if the prompt is not the
    router's, is ambiguous, or the answer is not judged; the router then says that the answer is
    not verified."""
    question, context, answer = _parts(given)
    [result] = await score([row_of(
        "the prompt", {"question": question, "knowledge": context, "response": answer})])
    if result["error"] is not None:
        raise HTTPException(400, result["error"])
    if "claims" not in result:
        raise HTTPException(400, "The route needs the metric groundedness or scale.")
    if result["reason"] not in (None, "no_claim", "empty"):
        raise HTTPException(422, f"The answer was not judged: {REASONS[result['reason']]}.")
    fields = value_of(given, "response_format.json_schema.schema.properties.hallucinated_spans."
                             "items.properties")
    explained = isinstance(fields, Mapping) and "explanation" in fields
    spans = [_span(answer, one, explained) for one in unsupported(result["claims"] or ())]
    message = {"role": "assistant", "content": json.dumps(
        {"hallucinated_spans": spans}, ensure_ascii=False)}
    return {"id": "chatcmpl-q2", "object": "chat.completion", "created": int(time.time()),
            "model": "q2-metric",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def _parts(given: Any) -> tuple[str, str, str]:
    try:
        text = str(given["messages"][-1]["content"])
    except (LookupError, TypeError):
        text = ""
    found = _PROMPT.fullmatch(text)
    if found is None or given.get("stream"):
        raise HTTPException(400, "The last message must be the prompt of the vLLM semantic router's"
                            " hallucination detector, and stream must be false.")
    if any(text.count(mark) > 1 for mark in (_CONTEXT, _ANSWER)):
        # Otherwise a question or an answer could pass its own words off as the context.
        raise HTTPException(400, "The prompt is ambiguous: a text in it contains its headings.")
    return found[1], found[2], found[3]


def _span(answer: str, claim: Mapping[str, Any], explained: bool) -> dict[str, str]:
    contradicted = claim["verdict"] == "contradicted"
    return {
        "text": answer[claim["start"]:claim["end"]],
        "category": "contradiction" if contradicted else "unsupported_addition",
        "subcategory": "unspecified" if contradicted else "claim",
        **({"explanation": claim_words(claim)} if explained else {}),
    }


async def decision(given: Any, score: ScoreRows) -> dict[str, str]:
    """What LiteLLM does with the texts of a request. The knowledge is the parameter ``knowledge``,
    or what tools returned in the chat. Requests to a model pass, as do responses without knowledge.
    HTTPException if the request is malformed or a text cannot be scored; LiteLLM then blocks it."""
    given = given if isinstance(given, Mapping) else {}
    texts, chat = given.get("texts"), given.get("structured_messages") or []
    params = given.get("additional_provider_specific_params") or {}
    if not (isinstance(texts, list) and all_text(texts) and len(texts) <= MOST_ROWS
            and isinstance(chat, list) and isinstance(params, Mapping)):
        raise HTTPException(400, "The body must be an object with a list texts of at most "
                            f"{MOST_ROWS} strings, as LiteLLM sends it.")
    try:
        threshold = check_threshold(params.get("threshold", THRESHOLD))
    except InputError as error:
        raise HTTPException(400, str(error)) from error
    known = "knowledge" in params or any(
        isinstance(one, Mapping) and one.get("role") == "tool" for one in chat)
    if given.get("input_type") != "response" or not known:
        return _PASS
    rows = [row_of(f"texts[{place}]", {"response": text, **(
        {"knowledge": params["knowledge"]} if "knowledge" in params else {
            "messages": [*chat, {"role": "assistant", "content": text}]})}, place=place)
        for place, text in enumerate(texts)]
    for result in await score(rows):
        if result["error"] is not None:
            raise HTTPException(400, result["error"])
        if GATED not in result:
            raise HTTPException(400, f"The guardrail needs the metric {GATED}.")
        if falls_short(result, threshold=threshold):
            claims = "; ".join(f"{one['verdict']}: {one['text']}"
                               for one in unsupported(result["claims"]))
            return {"action": "BLOCKED", "blocked_reason":
                    f"The sources do not support the response ({claims or result[GATED]})."}
    return _PASS

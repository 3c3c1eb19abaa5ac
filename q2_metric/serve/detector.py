"""The detector route of the vLLM semantic router: which spans of an answer its context does not
support. The router asks a chat model with a fixed prompt; this route reads the prompt."""

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException

from q2_metric.rows.plain import REASONS
from q2_metric.rows.record import value_of
from q2_metric.scoring.verdict import claim_words, unsupported
from q2_metric.serve.rows import ScoreRows, row_of

_CONTEXT, _ANSWER = "\n\nExcerpt 1:\n", "\n\nAnswer to verify:\n"
_PROMPT = re.compile(f"User request: (.*){_CONTEXT}(.*){_ANSWER}(.*)", re.S)
_JUDGED = (None, "no_claim", "empty")
"""Reasons with which a response has no unsupported span."""


async def detection(given: Any, score: ScoreRows) -> dict[str, Any]:
    """A chat completion with the unsupported claims as JSON. HTTPException if the prompt is not the
    router's, is ambiguous, or the answer is not judged; the router then says that the answer is
    not verified."""
    given = given if isinstance(given, Mapping) else {}
    question, context, answer = _parts(given)
    [result] = await score([row_of(
        "the prompt", {"question": question, "knowledge": context, "response": answer})])
    if result["error"] is not None:
        raise HTTPException(400, result["error"])
    if "claims" not in result:
        raise HTTPException(400, "The route needs the metric groundedness or scale.")
    if result["reason"] not in _JUDGED:
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


def _parts(given: Mapping[str, Any]) -> tuple[str, str, str]:
    messages = given.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    text = last.get("content") if isinstance(last, Mapping) else None
    text = text if isinstance(text, str) else ""
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

"""LiteLLM's Generic Guardrail API: blocks a response that its knowledge does not support."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException

from q2_metric.errors import InputError
from q2_metric.scoring import check_threshold, unsupported
from q2_metric.scoring.verdict import GATED, THRESHOLD, falls_short
from q2_metric.serve.rows import MOST_ROWS, ScoreRows, row_of
from q2_metric.text.given import all_text

PASS = {"action": "NONE"}


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
        return PASS
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
    return PASS

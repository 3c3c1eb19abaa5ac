"""The stages of Q² and SCALE as prompts to a model on a server (:mod:`.endpoints`)."""

import re
from collections.abc import Sequence

from q2_metric.models.endpoints import Endpoint
from q2_metric.models.hub.questions import QuestionContext, clean, place
from q2_metric.models.hub.yes_no import prompt_of
from q2_metric.text.excerpts import in_passages
from q2_metric.types import Answer, Span, Verdict

_TOKEN = re.compile(r"\w+|[^\w\s]")
_NO_ANSWER = "NO ANSWER"
_QUESTION = ('Text: {text}\n\nWrite one short question about the text whose answer is "{span}". '
             "Write only the question.")
_READ = ("Text: {text}\n\nQuestion: {question}\n\nAnswer with as few words as possible, copied "
         f"from the text. If the text does not answer the question, write {_NO_ANSWER}.")
_NLI = ("Premise: {premise}\n\nStatement: {hypothesis}\n\nWhich is true? (A) The premise implies "
        "the statement. (B) The premise neither implies nor contradicts it. (C) The premise "
        "contradicts it. Reply with A, B or C only.")
MOST_TOKENS = 64  # of a question or an answer


class ChatYesNo:
    """SCALE's backbone. P(entailment) is the probability of "Yes" as the first token of the reply,
    in a softmax over "Yes" and "No". Chunks are counted in words and signs, because the server's
    tokens are not known. InputError: the prompt is unknown."""

    def __init__(self, endpoint: Endpoint, prompt: str | None = None) -> None:
        self._prompt, self._endpoint = prompt_of(prompt or "scale"), endpoint
        self.name, self.prompt = endpoint.name, self._prompt.text

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        prompts = [self._prompt.fill(*pair) for pair in pairs]
        return [Verdict(yes, no) for yes, no in self._endpoint.chances(
            prompts, (self._prompt.yes, self._prompt.no))]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _TOKEN.finditer(text)]


class ChatNli:
    """Q²'s NLI: the probabilities of three letters as the first token of the reply."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name, self._endpoint = endpoint.name, endpoint

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        prompts = [_NLI.format(premise=premise, hypothesis=said) for premise, said in pairs]
        return [Verdict(*chances) for chances in self._endpoint.chances(prompts, "ABC")]


class ChatQuestions:
    """Q²'s questions: one for each span. ``reading``: see ``Seq2SeqQuestions``."""

    decoding = "greedy"

    def __init__(self, endpoint: Endpoint, reading: QuestionContext = "neighbours") -> None:
        self.name, self._endpoint, self.reading = endpoint.name, endpoint, reading

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        if self.reading == "neighbours":
            spans = in_passages(spans)
        prompts = [_QUESTION.format(text=place(span)[0], span=span.text) for span in spans]
        return [clean(text.splitlines()[:1])
                for text in self._endpoint.texts(prompts, MOST_TOKENS)]


class ChatReader:
    """Q²'s reader. If the model's words are not in the text, the answer has no ``start``."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name, self._endpoint = endpoint.name, endpoint

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        prompts = [_READ.format(text=text, question=question) for question, text in pairs]
        replies = self._endpoint.texts(prompts, MOST_TOKENS)
        return [_answer(reply, text) for reply, (_, text) in zip(replies, pairs, strict=True)]


def _answer(reply: str, text: str) -> Answer | None:
    whole = (reply.splitlines() or [""])[0].strip()
    said = whole.strip("\"“”'. ")
    for words in dict.fromkeys((whole, said)):
        if words and (found := re.search(re.escape(words), text, re.I)):
            return Answer(found[0], found.start(), 0.0)
    return None if not said or said.upper().startswith(_NO_ANSWER) else Answer(said, None, 0.0)

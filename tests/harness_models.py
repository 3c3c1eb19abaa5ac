"""Models for runs of lm-evaluation-harness: registered under ``--model`` by importing this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.models.huggingface import HFLM


class _Answers(LM):
    """A model that looks its answers up; ``asked`` counts the requests that reached it."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.asked = 0
        self.prompts: list[str] = []

    def _answer(self, requests: Sequence[Instance], place: int) -> str:
        raise NotImplementedError

    def generate_until(self, requests: list[Instance]) -> list[str]:
        self.asked += len(requests)
        self.prompts += [request.args[0] for request in requests]
        answers = [self._answer(requests, i) for i in range(len(requests))]
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial("generate_until", request.args, answer)
        return answers

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        raise NotImplementedError

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        turns = "".join(f"<{turn['role']}>{turn['content']}</>" for turn in chat_history)
        return turns + ("<assistant>" if add_generation_prompt else "")

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "tags"

    @property
    def tokenizer_name(self) -> str:
        return "tags"


@register_model("q2-oracle")
class Oracle(_Answers):
    """Answers with the gold response."""

    def _answer(self, requests: Sequence[Instance], place: int) -> str:
        return str(requests[place].doc["response"])


class GlooOracle(Oracle):
    """An oracle of several ranks, which must be in a process group."""

    device = "cpu"

    def __init__(self, **_: Any) -> None:
        import torch.distributed as dist

        super().__init__()
        self._group = dist
        self._rank, self._world_size = dist.get_rank(), dist.get_world_size()

    def barrier(self) -> None:
        self._group.barrier()

    def all_gather(self, tensor: Any) -> Any:
        import torch

        found = [torch.zeros_like(tensor) for _ in range(self._world_size)]
        self._group.all_gather(found, tensor)
        return torch.stack(found)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        found = [None] * self._world_size if self._rank == dst else None
        self._group.gather_object(obj, found, dst)
        return found


@register_model("q2-other")
class OtherKnowledge(_Answers):
    """Answers with another row's knowledge, the beginning of it where it is an article."""

    def _answer(self, requests: Sequence[Instance], place: int) -> str:
        knowledge = requests[(place + 1) % len(requests)].doc["knowledge"]
        return str(knowledge) if len(knowledge) < 500 else " ".join(knowledge.split()[:25])


@register_model("q2-last-sentence")
class LastSentence(_Answers):
    """Answers with the last long sentence of the row's own knowledge."""

    def _answer(self, requests: Sequence[Instance], place: int) -> str:
        sentences = requests[place].doc["knowledge"].split(". ")
        return str([s for s in sentences if len(s.split()) > 8][-1])


@register_model("q2-silent")
class Silent(_Answers):
    """Answers with nothing that can be seen."""

    def _answer(self, requests: Sequence[Instance], place: int) -> str:
        return " \n"


@register_model("q2-judge")
class Judge(_Answers):
    """Says Yes exactly where people did (``honest=False``: where they did not)."""

    def __init__(self, honest: bool = True, **_: Any) -> None:
        super().__init__()
        self.honest = honest

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        self.prompts += [request.args[0] for request in requests]
        answers = []
        for request in requests:
            right = (request.args[1].strip() == "Yes") == request.doc["consistent"]
            likely = right == self.honest
            answers.append((-0.1 if likely else -2.3, likely))
        return answers


@register_model("hf-gloo")
class GlooHFLM(HFLM):
    """``--model hf`` that shards over CPU ranks too; the harness's own does so for GPUs only."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if hasattr(self, "accelerator"):
            self._rank = self.accelerator.process_index
            self._world_size = self.accelerator.num_processes

"""Rewards for TRL, in a real ``GRPOTrainer`` with a tiny model."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClaims
from optional import needs

from q2_metric import InputError, metrics
from q2_metric.integrations.trl import Reward, text_of

KNOWLEDGE = "Rome has 7 hills."


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeClaims:
    """Everything that claims something is worth 0.5, the word "hills" 1."""
    metric = FakeClaims("q2", {f"{n}hills": 1.0 for n in ("", "7 ")})
    monkeypatch.setattr(metrics, "load_metrics", lambda *_, **__: [metric])
    return metric


def test_a_step_is_one_batch(fake: FakeClaims) -> None:
    said = ["7 hills", "lol", "", "Rome is big."]
    logged: dict[str, float] = {}
    found = Reward("q2")(
        ["?"] * 4, said, completion_ids=[[1]] * 4, knowledge=[KNOWLEDGE, [KNOWLEDGE], "x", " "],
        trainer_state=None, log_metric=logged.__setitem__)
    assert found == [1.0, 0.0, 0.0, None]
    assert logged == {"q2/coverage": 0.0, "q2/fallback": 0.0, "q2/no_claim": pytest.approx(2 / 3)}
    assert fake.batches == [1]


def test_a_metric_that_fails_on_all_rows_ends_no_training(
    fake: FakeClaims, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the device is lost")

    reward = Reward("q2")
    monkeypatch.setattr(FakeClaims, "score", fail)
    said = [f"Rome has {n} hills." for n in range(12)]  # eight or more count as a broken model
    assert reward(["?"] * 12, said, knowledge=[KNOWLEDGE] * 12) == [None] * 12


def test_a_reward_has_one_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(InputError, match="a reward has one metric"):
        Reward("knowledge_f1,word_share")


def test_what_repeats_the_history_claims_nothing() -> None:
    reward = Reward("q2", knowledge="text", history="turns")
    turns = [["Rome is an old town."], None]
    said = ["Rome is an old town."] * 2
    assert reward([""] * 2, said, text=[KNOWLEDGE] * 2, turns=turns) == [0.0, 0.5]


def test_an_untrained_model_earns_nothing() -> None:
    """The share of its texts with a claim is its whole reward."""
    golden = Path(__file__).parents[1] / "golden" / "untrained.tsv"
    said = [line.split("\t")[-1] for line in golden.read_text(encoding="utf-8").splitlines()[1:]]
    logged: dict[str, float] = {}
    found = Reward("q2")(["?"] * len(said), said, knowledge=[KNOWLEDGE] * len(said),
                         log_metric=logged.__setitem__)
    assert logged["q2/no_claim"] == pytest.approx(found.count(0.0) / len(said))
    assert logged["q2/no_claim"] >= 0.69


def test_conversational_completions() -> None:
    spoken: list[Any] = [
        [{"role": "assistant", "content": "7 hills"}],
        [{"role": "assistant", "content": [{"type": "text", "text": "7 "},
                                           {"type": "text", "text": "hills"}]}],
        [{"role": "assistant", "content": None, "tool_calls": []},
         {"role": "tool", "content": "7 hills"}],
        [],
    ]
    assert [text_of(one) for one in spoken] == ["7 hills", "7 hills", "", ""]
    found = Reward("q2")([[{"role": "user", "content": "?"}]] * 4, spoken,
                         knowledge=[KNOWLEDGE] * 4)
    assert found == [1.0, 1.0, 0.0, 0.0]


def test_a_missing_text_is_a_blank_one() -> None:
    reward = Reward("q2")
    for nothing in (None, "", " ", [], [None], float("nan")):
        assert reward(["?"], [KNOWLEDGE], knowledge=[nothing]) == [None]
        assert reward(["?"], [KNOWLEDGE], knowledge=[KNOWLEDGE], history=[nothing]) == [0.5]


def test_without_knowledge_it_says_so() -> None:
    with pytest.raises(InputError, match=r"no column 'knowledge' .* are answer, source"):
        Reward("q2")(["?"], ["a"], source=["b"], answer=["c"], trainer_state=object())
    with pytest.raises(InputError, match="the knowledge of completion 0 is a number"):
        Reward("q2")(["?"], ["a"], knowledge=[7])
    with pytest.raises(InputError, match="a completion is a number"):
        Reward("q2")(["?"], [3], knowledge=["b"])
    with pytest.raises(InputError, match="no_claim"):
        Reward("q2", no_claim="exclude")


def test_it_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(Reward("q2", knowledge="text")))
    assert again(["?"], ["7 hills"], text=[KNOWLEDGE]) == [1.0]
    assert again.__name__ == "q2"


def test_grpo_learns_what_is_rewarded(tmp_path: Path) -> None:
    needs("trl")
    import torch
    import transformers
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from trl import GRPOConfig, GRPOTrainer

    words = ["<pad>", "</s>", "<s>", "hills", "lol", "wow", "."]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<pad>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="<s>")
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, pad_token_id=0, eos_token_id=1, bos_token_id=2))
    trainer = GRPOTrainer(
        model=model, reward_funcs=Reward("q2"), processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": ["<s>"] * 2, "knowledge": [KNOWLEDGE] * 2}),
        args=GRPOConfig(
            str(tmp_path), max_steps=12, per_device_train_batch_size=8, num_generations=8,
            max_completion_length=1, learning_rate=5e-2, lr_scheduler_type="constant", beta=0.0,
            report_to=[], save_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True,
            logging_steps=1, seed=1),
    )
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "rewards/q2/mean" in entry]
    assert len(logged) == 12
    assert {"q2/no_claim", "q2/coverage", "q2/fallback"} <= set(logged[0])
    assert logged[-1]["rewards/q2/mean"] == 1.0 > logged[0]["rewards/q2/mean"]
    assert logged[-1]["q2/no_claim"] == 0.0 < logged[0]["q2/no_claim"]

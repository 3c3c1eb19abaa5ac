"""Models on real servers, which answer from a tiny model that is made here."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from q2_metric import Example
from q2_metric.errors import MachineFault
from q2_metric.metrics import load_metrics
from q2_metric.models.chat import ChatQuestions
from q2_metric.models.endpoints import Endpoint, endpoint
from q2_metric.types import Span

ROW = Example("It opened in 1889.", "The tower opened in 1889.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chat model that says "Yes" with probability 0.75, and otherwise "No"."""
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PhiConfig, PhiForCausalLM, PreTrainedTokenizerFast

    words = ["<unk>", "</s>", "Yes", "No", "user", "assistant"]
    tokenizer = Tokenizer(models.WordLevel(dict(zip(words, range(9), strict=False)), "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>",
                                   eos_token="</s>", pad_token="</s>")
    fast.chat_template = (
        "{% for m in messages %}{{ m['role'] }} {{ m['content'] }}{% endfor %} assistant")
    model = PhiForCausalLM(PhiConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, bos_token_id=1, eos_token_id=1, pad_token_id=1))
    with torch.no_grad():
        model.lm_head.weight.zero_()
        model.lm_head.bias.copy_(torch.tensor([.0, .0, .75, .25, .0, .0]).log().clamp(min=-50))
    model.generation_config.do_sample = True
    place: Path = tmp_path_factory.mktemp("chat") / "always-yes"
    model.save_pretrained(place)
    fast.save_pretrained(place)
    return place


@contextmanager
def running(*command: str) -> Iterator[str]:
    """The URL of a server that a command starts; the command gets the port at its end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env={**os.environ, "HF_HUB_OFFLINE": "1"})
    url = f"http://127.0.0.1:{port}/v1"
    try:
        for _ in range(600):
            try:
                urlopen(f"{url}/models", timeout=5).close()
                break
            except (URLError, OSError):
                if process.poll() is not None:
                    pytest.fail(process.communicate()[0].decode())
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.communicate()


CHANCES = {"▁Yes": 0.5, "Yes": 0.1, "No": 0.2, "Maybe": 0.2}


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama whose logits are the same after every text."""
    gguf = pytest.importorskip("gguf", reason="llama.cpp reads GGUF files: pip install gguf")
    np = pytest.importorskip("numpy")
    words, width = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256)), *CHANCES], 32
    place: Path = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    writer = gguf.GGUFWriter(place, "llama")
    for name, value in {
        "context_length": 2048, "embedding_length": width, "block_count": 1, "head_count": 2,
        "head_count_kv": 2, "feed_forward_length": width, "rope_dimension_count": 16,
        "layer_norm_rms_eps": 1e-5, "vocab_size": len(words), "tokenizer_model": "llama",
        "token_list": words, "token_scores": [0.0] * len(words),
        "token_types": [2, 3, 3, *[6] * 256, *[1] * len(CHANCES)], "bos_token_id": 1,
        "eos_token_id": 2, "unk_token_id": 0, "chat_template":
            "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:",
    }.items():
        getattr(writer, f"add_{name}")(value)
    same = np.ones(width, dtype=np.float32)
    logits = np.array([math.log(CHANCES.get(word, 1e-20)) for word in words], dtype=np.float32)
    writer.add_tensor("token_embd.weight", np.tile(same, (len(words), 1)))
    writer.add_tensor("output.weight", np.outer(logits, same / width))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", same)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((width, width), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return place


def test_llama_cpp_server(gguf_file: Path) -> None:
    """P(Yes) from the probabilities that llama.cpp computes."""
    pytest.importorskip("llama_cpp.server", reason="pip install 'llama-cpp-python[server]'")
    with running(sys.executable, "-m", "llama_cpp.server", "--model", str(gguf_file),
                 "--logits_all", "true", "--n_ctx", "2048", "--port") as url:
        name = f"openai:tiny@{url}"
        [scale] = load_metrics(["scale"], scale_model=name)
        [score] = scale.score([ROW])
        assert score.value == pytest.approx((0.5 + 0.1) / (0.5 + 0.1 + 0.2), abs=1e-3)
        [scale] = load_metrics(["scale"], scale_model=name, escalate="0,1")
        [twice] = scale.score([Example("Visitors like the view.", ROW.knowledge)])
        assert twice.value == pytest.approx(score.value)
        cost = endpoint(name).cost
        assert (cost.requests, cost.escalated, cost.completion_tokens) == (2, 1, 2)
        assert cost.prompt_tokens > 100


def test_transformers_serve(folder: Path) -> None:
    pytest.importorskip("openai", reason="transformers serve needs transformers[serving]")
    program = ("from transformers.cli.transformers import main; import sys; "
               "sys.argv[0] = 'transformers'; main()")
    with running(sys.executable, "-c", program, "serve", str(folder), "--device", "cpu",
                 "--port") as url:
        name = f"openai:{folder}@{url}"
        [scale] = load_metrics(["scale"], scale_model=name)
        with pytest.raises(MachineFault, match="gives no top_logprobs"):
            scale.score([ROW])
        [scale] = load_metrics(["scale"], scale_model=f"{name}#votes=40")
        [score] = scale.score([ROW])
        assert score.value is not None
        assert 0.5 < score.value < 1
        endpoint = Endpoint(name)
        [[question]] = ChatQuestions(endpoint).generate([Span(ROW, "1889", 13)])
        assert set(question.split()) == {"Yes"}
        assert endpoint.cost.prompt_tokens > 10

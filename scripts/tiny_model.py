"""`python -m scripts.tiny_model FOLDER [decides]` creates a tiny language model, for tests.

It runs in vLLM's environment. The model is a Llama of some hundred thousand random weights with its
own tokenizer and chat template. Its answers are meaningless but short: one direction of the hidden
state is constant, and has large weights to the tokens that close a text, a list or an object. So
under a JSON schema the answers are complete, and empty where the schema allows it. A model that
`decides` is a Qwen3, of which vLLM takes decisions: it favours the labels of their answers instead.
"""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

VOCABULARY = 512
HIDDEN, LAYERS, HEADS, CONTEXT = 64, 2, 2, 32_768
SPECIAL = ["<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"]
# A key that may be empty is empty, since this token ends a key; texts never contain it.
NOTHING = '":null'
CLOSING = {'"': 2.0, "]": 2.0, "}": 2.0, "</s>": 2.0, NOTHING: 3.0, "n": 1.0}
# The labels of decisions have nearly all the mass, and the labels of sides most of it.
LABELS = dict.fromkeys((*string.ascii_uppercase, *string.digits), 6.0) | {"yes": 6.5, "no": 6.5}
CHAT = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SYLLABLES = ("ba", "de", "fi", "go", "lu", "mar", "ne", "or", "qui", "ran", "sel", "to", "un", "vy")


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["decides"]):
        print("usage: python -m scripts.tiny_model FOLDER [decides]", file=sys.stderr)
        return 2
    # Our package `datasets` would shadow the library of that name for transformers.
    root = str(Path(__file__).resolve().parents[1])
    sys.path[:] = [path for path in sys.path if path not in ("", root)]
    make_model(Path(arguments[0]), decides=len(arguments) == 2)
    return 0


def make_model(folder: Path, decides: bool = False) -> None:
    """Write the model into the folder. The same libraries always write the same model."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

    tokenizer = _tokenizer(LABELS if decides else ())
    torch.manual_seed(0)
    kind: Any = Qwen3ForCausalLM if decides else LlamaForCausalLM
    config: Any = Qwen3Config if decides else LlamaConfig
    model = kind(
        config(
            vocab_size=len(tokenizer),
            hidden_size=HIDDEN,
            intermediate_size=2 * HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            head_dim=HIDDEN // HEADS,
            max_position_embeddings=CONTEXT,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=False,
        )
    ).float()
    with torch.no_grad():
        _lean(model, tokenizer, LABELS if decides else CLOSING)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _lean(model: Any, tokenizer: Any, favoured: Mapping[str, float]) -> None:
    """Make the first dimension of the hidden state constant, with weights to some tokens."""
    embeddings, head = model.model.embed_tokens.weight, model.lm_head.weight
    embeddings[:, 0] = 1.0
    head[:, 0] = 0.0
    for token, weight in favoured.items():
        head[tokenizer.convert_tokens_to_ids(token), 0] = weight


def _tokenizer(own: Iterable[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bytes_of = pre_tokenizers.ByteLevel
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = bytes_of(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=bytes_of.alphabet()
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )
    fast.add_tokens([NOTHING, *own])
    fast.chat_template = CHAT
    return fast


def _texts() -> list[str]:
    """Return enough generated words to learn merges from."""
    drawn = random.Random(0)
    words = ["".join(drawn.choices(SYLLABLES, k=drawn.randint(1, 3))) for _ in range(400)]
    return [" ".join(drawn.choices(words, k=12)) + "." for _ in range(400)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Models of transformers over text: encoders, decoders, encoder-decoders, experts, state spaces."""

from . import tiny
from .example import Example, Model, padded, tokens

LENGTH = 16
MASKED, CAUSAL, SEQUENCE = "AutoModelForMaskedLM", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
CLASSES = "AutoModelForSequenceClassification"

# type -> the class of its head, and fields of its configuration.
ENCODERS = {
    "albert": (MASKED, {}),
    "bert": (MASKED, {}),
    "big_bird": (MASKED, {"attention_type": "original_full"}),
    "camembert": (CLASSES, {}),
    "convbert": (MASKED, {}),
    "data2vec-text": (MASKED, {}),
    "deberta": (MASKED, {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "deberta-v2": (MASKED, {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "distilbert": (MASKED, {}),
    "electra": (CLASSES, {}),
    "ernie": (MASKED, {}),
    "esm": (MASKED, {"position_embedding_type": "rotary"}),
    "eurobert": (MASKED, {}),
    "flaubert": (CLASSES, {}),
    "fnet": (MASKED, {}),
    "funnel": (MASKED, {"block_sizes": [1, 1], "d_head": 8, "d_inner": 64, "num_hidden_layers": None}),
    "ibert": (MASKED, {}),
    "layoutlm": (MASKED, {}),
    "longformer": (MASKED, {"attention_window": [8, 8]}),
    "luke": (MASKED, {}),
    "megatron-bert": (MASKED, {}),
    "mobilebert": (MASKED, {"intra_bottleneck_size": 16, "true_hidden_size": 16}),
    "modernbert": (MASKED, {"local_attention": 8}),
    "mpnet": (MASKED, {}),
    "nomic_bert": (MASKED, {}),
    "nystromformer": (MASKED, {"num_landmarks": LENGTH, "segment_means_seq_len": LENGTH}),
    "rembert": (MASKED, {"input_embedding_size": 16, "output_embedding_size": 16}),
    "roberta": (MASKED, {}),
    "roberta-prelayernorm": (MASKED, {}),
    "roc_bert": (MASKED, {}),
    "roformer": (MASKED, {}),
    "splinter": ("SplinterModel", {}),
    "squeezebert": (
        MASKED,
        {"q_groups": 1, "k_groups": 1, "v_groups": 1, "post_attention_groups": 1, "embedding_size": 32},
    ),
    "xlm": (CLASSES, {}),
    "xlm-roberta": (MASKED, {}),
    "xlm-roberta-xl": (MASKED, {}),
    "xlnet": (CLASSES, {"d_inner": 64, "d_head": 8, "max_position_embeddings": None}),
    "xmod": (MASKED, {"default_language": "en_XX"}),
    "yoso": (MASKED, {"use_expectation": True}),
}

DECODERS = {
    "apertus": {},
    "arcee": {},
    "bert-generation": {},
    "biogpt": {},
    "bitnet": {},
    "bloom": {},
    "codegen": {"rotary_dim": 4},
    "cohere": {},
    "cohere2": {},
    "ctrl": {"dff": 64},
    "cwm": {},
    "diffllama": {},
    "ernie4_5": {},
    "exaone4": {},
    "falcon": {"head_dim": None},
    "gemma": {},
    "gemma2": {},
    "gemma3_text": {},
    "glm": {},
    "glm4": {},
    "gpt2": {},
    "gpt_bigcode": {},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 8},
    "gpt_neox": {},
    "gpt_neox_japanese": {},
    "gptj": {"rotary_dim": 4},
    "granite": {},
    "helium": {},
    "hunyuan_v1_dense": {},
    "jais2": {},
    "llama": {},
    "ministral": {},
    "mistral": {},
    "mpt": {},
    "nanochat": {},
    "nemotron": {},
    "olmo": {},
    "olmo2": {},
    "olmo3": {},
    "openai-gpt": {},
    "opt": {"word_embed_proj_dim": 32},
    "persimmon": {},
    "phi": {},
    "phi3": {},
    "qwen2": {},
    "qwen3": {},
    "seed_oss": {},
    "smollm3": {},
    "stablelm": {},
    "starcoder2": {},
    "vaultgemma": {},
    "xglm": {"attention_heads": 4},
}

EXPERTS = {
    "deepseek_v2": {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
                    "v_head_dim": 8, "num_key_value_heads": 4,
                    "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1},
    "deepseek_v3": {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
                    "v_head_dim": 8, "num_key_value_heads": 4,
                    "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1},
    "dots1": {"first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "n_shared_experts": 1},
    "ernie4_5_moe": {},
    "flex_olmo": {},
    "glm4_moe": {"first_k_dense_replace": 1, "n_group": 1, "topk_group": 1},
    "gpt_oss": {},
    "granitemoe": {},
    "granitemoeshared": {},
    "jetmoe": {},
    "lfm2_moe": {"num_dense_layers": 1, "layer_types": ["conv", "full_attention"]},
    "mixtral": {},
    "olmoe": {},
    "phimoe": {},
    "qwen2_moe": {},
    "qwen3_moe": {},
}  # fmt: skip

STATE_SPACES = {
    "bamba": {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_chunk_size": 8,
              "attn_layer_indices": [1]},
    "falcon_h1": {"mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_chunk_size": 8},
    "falcon_mamba": {"state_size": 8, "time_step_rank": 4},
    "granitemoehybrid": {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_chunk_size": 8,
                         "layer_types": ["mamba", "attention"]},
    "jamba": {"mamba_d_state": 8, "mamba_dt_rank": 4, "use_mamba_kernels": False, "attn_layer_period": 2,
              "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "lfm2": {},
    "mamba": {"state_size": 8, "time_step_rank": 4},
    "mamba2": {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8},
    "recurrent_gemma": {"lru_width": 32, "attention_window_size": 8, "block_types": ["recurrent", "attention"]},
    "rwkv": {"attention_hidden_size": 32, "context_length": 32},
    "xlstm": {"embedding_dim": 32, "qk_dim_factor": 0.5, "num_heads": 4, "chunk_size": 16, "num_blocks": 2},
}  # fmt: skip

SEQUENCES = {
    "bart": {},
    "bigbird_pegasus": {"attention_type": "original_full"},
    "blenderbot": {},
    "blenderbot-small": {},
    "led": {"attention_window": 8, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
    "longt5": {"local_radius": 7},
    "m2m_100": {},
    "marian": {},
    "mbart": {},
    "mt5": {},
    "mvp": {},
    "nllb-moe": {"num_experts": 4, "expert_capacity": 64},
    "pegasus": {},
    "pegasus_x": {"block_size": 8, "num_global_tokens": 4},
    "plbart": {},
    "prophetnet": {"num_buckets": 8, "num_hidden_layers": None},
    "switch_transformers": {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "expert_capacity": 64},
    "t5": {},
    "umt5": {},
}


NOTES = {
    "jetmoe": "how many tokens an expert gets is known at run time alone",
    "modernbert": "ONNX Runtime's outputs of what torch.onnx.export writes are off by 3e-4",
    "yoso": "the module's own backward pass is not the derivative, and the file holds the forward pass",
}


def first(out):
    """The logits, or what comes first."""
    return out["logits"] if "logits" in out else out[0]


def encoder(kind, auto, given):
    def build():
        data = padded(tiny.VOCABULARY, LENGTH)
        loss = "mse" if auto.endswith("Model") else "cross-entropy"
        return Example(tiny.model(kind, auto, given), data, loss, first, tuple(data))

    return build


def decoder(kind, given, mask):
    def build():
        data = padded(tiny.VOCABULARY, LENGTH) if mask else tokens(tiny.VOCABULARY, LENGTH)
        return Example(tiny.model(kind, CAUSAL, given), data, pick=first, keys=tuple(data))

    return build


def sequence(kind, given):
    def build():
        data = {**padded(tiny.VOCABULARY, LENGTH), **tokens(tiny.VOCABULARY, 12, name="decoder_input_ids")}
        return Example(tiny.model(kind, SEQUENCE, given), data, pick=first, keys=tuple(data))

    return build


def models():
    for kind, (auto, given) in ENCODERS.items():
        build = encoder(kind, auto, given)
        yield Model(f"transformers/{kind}", "transformers encoders", build, note=NOTES.get(kind, ""))
    for kind, given in DECODERS.items():
        yield Model(f"transformers/{kind}", "transformers decoders", decoder(kind, given, kind == "bloom"))
    for kind, given in EXPERTS.items():
        build = decoder(kind, given, False)
        yield Model(f"transformers/{kind}", "transformers experts", build, note=NOTES.get(kind, ""))
    for kind, given in STATE_SPACES.items():
        yield Model(f"transformers/{kind}", "transformers state space", decoder(kind, given, False))
    for kind, given in SEQUENCES.items():
        yield Model(f"transformers/{kind}", "transformers encoder-decoder", sequence(kind, given))
    yield Model("transformers/bert-torchscript", "torchscript exporter", encoder("bert", MASKED, {}), "torchscript")
    yield Model("transformers/gpt2-torchscript", "torchscript exporter", decoder("gpt2", {}, True), "torchscript")

# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with a tiny random configuration of any model type."""

# Set in every configuration that has the field, in those of its parts too.
WIDTH, VOCABULARY = 32, 96
FIELDS = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "model_dim", "projection_dim"), WIDTH),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers", "decoder_num_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "multi_query_group_num"), 2),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "n_inner"), 64),
    **dict.fromkeys(
        ("hidden_dim", "ffn_hidden_size", "shared_intermediate_size", "shared_expert_intermediate_size"), 64
    ),
    **dict.fromkeys(("head_dim", "d_kv", "attention_head_size", "kv_channels"), 8),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k"), 2),
    **dict.fromkeys(("layerdrop", "encoder_layerdrop", "decoder_layerdrop", "drop_path_rate"), 0.0),
    "vocab_size": VOCABULARY,
    "embedding_size": 16,
    "moe_intermediate_size": 32,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "image_size": 32,
    "patch_size": 8,
    "num_labels": 5,
    "apply_spec_augment": False,
    "use_cache": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
PARTS = ("text_config", "vision_config", "audio_config", "encoder_config", "decoder_config", "qformer_config")
LABELS = {"num_labels"}


def shrunk(default, given):
    """What makes `default` tiny, as arguments of its class; None keeps the default."""
    chosen = {}
    for key, value in FIELDS.items():
        if hasattr(default, key) and (key in LABELS or not isinstance(getattr(default, key), (list, tuple))):
            chosen[key] = value
    for key in PARTS:
        part = getattr(default, key, None)
        if part is not None and hasattr(part, "to_dict"):
            chosen[key] = {"model_type": part.model_type, **shrunk(part, given.get(key, {}))}
    chosen.update({k: v for k, v in given.items() if k not in chosen or k not in PARTS})
    return {k: v for k, v in chosen.items() if v is not None}


def configuration(kind, given):
    from transformers import AutoConfig

    return AutoConfig.for_model(kind, **shrunk(AutoConfig.for_model(kind), given))


def model(kind, auto, given=None):
    """A model of type `kind` by transformers' class `auto`, with random weights."""
    import transformers

    config = configuration(kind, given or {})
    # Experts in a form that can be exported: a product for each chosen pair of a token and an expert.
    config._experts_implementation = "batched_mm"
    chosen = getattr(transformers, auto)
    return chosen.from_config(config) if auto.startswith("Auto") else chosen(config)

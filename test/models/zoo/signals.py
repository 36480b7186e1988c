# SPDX-License-Identifier: Apache-2.0
"""Models of transformers over images, sound, and both with text; U-Nets and autoencoders of diffusers."""

from . import tiny
from .example import BATCH, STEPS, Example, Model, images, padded, tokens
from .text import first

IMAGES = {
    "beit": {},
    "bit": {"hidden_sizes": [16, 32], "depths": [1, 1], "embedding_size": 16, "num_groups": 4},
    "convnext": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "convnextv2": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "cvt": {"embed_dim": [16, 32, 32], "num_heads": [1, 2, 2], "depth": [1, 2, 3], "drop_path_rate": [0.0] * 3},
    "data2vec-vision": {},
    "deit": {"architectures": ["DeiTForImageClassification"]},
    "dinov2": {},
    "dinov2_with_registers": {},
    "efficientnet": {"image_size": 64, "hidden_dim": None},
    "focalnet": {"embed_dim": 16, "depths": [1, 1], "focal_levels": [2, 2], "focal_windows": [3, 3],
                 "hidden_sizes": [16, 32], "patch_size": 4},
    "hiera": {"embed_dim": 16, "image_size": [64, 64], "depths": [1, 1, 1, 1]},
    "ijepa": {},
    "levit": {"image_size": 64, "hidden_sizes": [16, 32, 48], "num_attention_heads": [2, 2, 2], "depths": [1, 1, 1],
              "key_dim": [8, 8, 8], "patch_size": 16,
              "drop_path_rate": None, "architectures": ["LevitForImageClassification"]},
    "mobilenet_v1": {"image_size": 64},
    "mobilenet_v2": {"image_size": 64},
    "mobilevit": {"image_size": 64, "hidden_sizes": [32, 32, 32], "neck_hidden_sizes": [8, 8, 16, 16, 16, 16, 32],
                  "patch_size": 2},
    "mobilevitv2": {"image_size": 64, "base_attn_unit_dims": [16, 16, 16], "n_attn_blocks": [1, 1, 1],
                    "patch_size": 2},
    "poolformer": {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]},
    "pvt": {"image_size": 64, "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4],
            "depths": [1, 1, 1, 1], "patch_sizes": [4, 2, 2, 2]},
    "pvt_v2": {"hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "depths": [1, 1, 1, 1]},
    "regnet": {"hidden_sizes": [16, 32], "depths": [1, 1], "embedding_size": 8, "groups_width": 8},
    "resnet": {"hidden_sizes": [16, 32], "depths": [1, 1], "embedding_size": 8},
    "segformer": {"hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "depths": [1, 1, 1, 1]},
    "swiftformer": {"image_size": 64, "depths": [1, 1, 1, 1], "embed_dims": [16, 16, 32, 32]},
    "swin": {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "swinv2": {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "vit": {},
    "vit_msn": {},
}  # fmt: skip
SIZES = {"efficientnet": 64, "hiera": 64, "levit": 64, "mobilenet_v1": 64, "mobilenet_v2": 64, "mobilevit": 64,
         "mobilevitv2": 64, "pvt": 64,
         "swiftformer": 64}  # fmt: skip

CONVOLUTIONS = {"conv_dim": [16, 16, 16], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
                "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8,
                "num_conv_pos_embedding_groups": 2}  # fmt: skip
WAVES = {
    "data2vec-audio": {**CONVOLUTIONS, "conv_pos_kernel_size": 3},
    "hubert": CONVOLUTIONS,
    "sew": {**CONVOLUTIONS, "squeeze_factor": 2},
    "unispeech": CONVOLUTIONS,
    "unispeech-sat": CONVOLUTIONS,
    "wav2vec2": CONVOLUTIONS,
    "wav2vec2-conformer": CONVOLUTIONS,
    "wavlm": CONVOLUTIONS,
}

VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "image_size": 32, "patch_size": 8}  # fmt: skip


def image_model(kind, given):
    def build():
        model = tiny.model(kind, "AutoModelForImageClassification", given)
        return Example(model, images(SIZES.get(kind, 32)), pick=first, keys=("pixel_values",))

    return build


def wave_model(kind, given):
    def build():
        import torch

        data = {"input_values": torch.randn(BATCH * STEPS, 800)}
        model = tiny.model(kind, "AutoModelForAudioClassification", {**given, "classifier_proj_size": 16})
        return Example(model, data, pick=first, keys=tuple(data))

    return build


def whisper():
    import torch

    given = {"num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 24}
    data = {"input_features": torch.randn(BATCH * STEPS, 16, 40), **tokens(96, 12, name="decoder_input_ids")}
    return Example(tiny.model("whisper", "WhisperForConditionalGeneration", given), data, pick=first, keys=tuple(data))


def speech_to_text():
    import torch

    given = {"input_feat_per_channel": 16, "max_source_positions": 64, "max_target_positions": 24, "conv_channels": 32}
    data = {"input_features": torch.randn(BATCH * STEPS, 40, 16), **tokens(96, 12, name="decoder_input_ids")}
    model = tiny.model("speech_to_text", "Speech2TextForConditionalGeneration", given)
    return Example(model, data, pick=first, keys=tuple(data))


def spectrogram():
    import torch

    given = {"num_mel_bins": 16, "max_length": 32, "patch_size": 8, "frequency_stride": 8, "time_stride": 8}
    data = {"input_values": torch.randn(BATCH * STEPS, 32, 16)}
    model = tiny.model("audio-spectrogram-transformer", "AutoModelForAudioClassification", given)
    return Example(model, data, pick=first, keys=tuple(data))


def pair(kind):
    """Image and text encoders with one space; the losses between samples of a batch are left out."""

    def build():
        import torch

        data = {**padded(96, 16), **{"pixel_values": images(32)["images"]}}
        model = tiny.model(kind, "AutoModel", {})
        pick = lambda out: torch.cat([out["image_embeds"], out["text_embeds"]], 1)  # noqa: E731
        return Example(model, data, "mse", pick, tuple(data))

    return build


def llava():
    """A decoder over image and text tokens; the tower that reads images is frozen."""
    import torch
    from torch import nn
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    text = LlamaConfig(vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
    config = LlavaConfig(text_config=text, vision_config=CLIPVisionConfig(**VISION), vision_feature_layer=-1)

    class ImageFirst(nn.Module):
        """Its own forward puts patches where the tokens say so, which depends on data."""

        def __init__(self):
            super().__init__()
            self.whole = LlavaForConditionalGeneration(config)

        def forward(self, pixel_values, input_ids):
            inner = self.whole.model
            patches = inner.vision_tower(pixel_values).last_hidden_state[:, 1:]
            words = inner.language_model.get_input_embeddings()(input_ids)
            both = torch.cat([inner.multi_modal_projector(patches), words], 1)
            return self.whole.lm_head(inner.language_model(inputs_embeds=both).last_hidden_state[:, patches.shape[1] :])

    model = ImageFirst()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("vision_tower" not in name)
    data = {"pixel_values": images(32)["images"], **tokens(96, 12)}
    return Example(model, data)


def caption():
    """A vision encoder, frozen, whose states a decoder of text attends to."""
    from transformers import BertConfig, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(**small, image_size=32, patch_size=8), BertConfig(**small, vocab_size=96)
    )
    model = VisionEncoderDecoderModel(config)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith("encoder."))
    data = {"pixel_values": images(32)["images"], **tokens(96, 12, name="decoder_input_ids")}
    return Example(model, data, pick=first, keys=tuple(data))


def unet(kind):
    def build():
        import diffusers
        import torch

        common = {"sample_size": 16, "in_channels": 4, "out_channels": 4, "block_out_channels": (16, 32),
                  "norm_num_groups": 4, "layers_per_block": 1}  # fmt: skip
        steps = torch.randint(0, 1000, (BATCH * STEPS,))
        data = {"sample": torch.randn(BATCH * STEPS, 4, 16, 16), "timestep": steps}
        if kind == "unet-2d":
            blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
                      "up_block_types": ("AttnUpBlock2D", "UpBlock2D"), "attention_head_dim": 8}  # fmt: skip
            model = diffusers.UNet2DModel(**common, **blocks)
        else:
            blocks = {"down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
                      "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"), "attention_head_dim": 4,
                      "cross_attention_dim": 24}  # fmt: skip
            model = diffusers.UNet2DConditionModel(**common, **blocks)
            data["encoder_hidden_states"] = torch.randn(BATCH * STEPS, 6, 24)
        return Example(model, data, "mse", lambda out: out["sample"], tuple(data))

    return build


def autoencoder(kind):
    def build():
        import diffusers

        blocks = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2,
                  "block_out_channels": (16, 32), "norm_num_groups": 4}  # fmt: skip
        if kind == "autoencoder-kl":
            model = diffusers.AutoencoderKL(**blocks, latent_channels=4, sample_size=32)
        else:
            model = diffusers.AutoencoderTiny(
                encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16),
                num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1),
            )  # fmt: skip
        return Example(model, images(32), "mse", lambda out: out["sample"], ("sample",))

    return build


def transformer_2d():
    import diffusers
    import torch

    model = diffusers.DiTTransformer2DModel(
        num_attention_heads=4, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=8, patch_size=2,
        num_embeds_ada_norm=10, norm_num_groups=4,
    )  # fmt: skip
    data = {
        "hidden_states": torch.randn(BATCH * STEPS, 4, 8, 8),
        "timestep": torch.randint(0, 10, (BATCH * STEPS,)),
        "class_labels": torch.randint(0, 10, (BATCH * STEPS,)),
    }
    return Example(model, data, "mse", lambda out: out["sample"], tuple(data))


def models():
    for kind, given in IMAGES.items():
        yield Model(f"transformers/{kind}", "transformers images", image_model(kind, given))
    for kind, given in WAVES.items():
        yield Model(f"transformers/{kind}", "transformers speech", wave_model(kind, given))
    yield Model("transformers/whisper", "transformers speech", whisper)
    yield Model("transformers/speech_to_text", "transformers speech", speech_to_text)
    yield Model("transformers/audio-spectrogram-transformer", "transformers speech", spectrogram)
    for kind in ("clip", "siglip", "chinese_clip", "altclip"):
        yield Model(f"transformers/{kind}", "transformers vision-language", pair(kind))
    yield Model("transformers/llava", "transformers vision-language", llava)
    yield Model("transformers/vision-encoder-decoder", "transformers vision-language", caption)
    for kind in ("unet-2d", "unet-2d-condition"):
        yield Model(f"diffusers/{kind}", "diffusers", unet(kind))
    for kind in ("autoencoder-kl", "autoencoder-tiny"):
        yield Model(f"diffusers/{kind}", "diffusers", autoencoder(kind))
    yield Model("diffusers/dit", "diffusers", transformer_2d)

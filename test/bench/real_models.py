# SPDX-License-Identifier: Apache-2.0
"""Real models at real sizes for the benchmark, with random weights; models.py exports and times them.

Each takes one tensor and returns logits with the classes last, or second for images of logits. Nothing is drawn while
they train: dropout and its kin are off. Needs PyTorch, torchvision and transformers where a model is made.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def vision(name, batch):
    import torch
    import torchvision

    model = torchvision.models.get_model(name, weights=None)
    return model, torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))


def logits_of(model):
    """The module whose result is the logits alone."""
    from torch import nn

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(input_ids=x, use_cache=False).logits

    return Logits()


def tokens(vocabulary, batch, length):
    import torch

    return torch.randint(0, vocabulary, (batch, length)), torch.randint(0, vocabulary, (batch, length))


def bert(batch=8, length=128):
    from transformers import BertConfig, BertForMaskedLM

    class Logits(BertForMaskedLM):
        def forward(self, x):
            return super().forward(input_ids=x).logits

    return Logits(BertConfig()), *tokens(30522, batch, length)


def gpt2(batch=2, length=512):
    from transformers import GPT2Config, GPT2LMHeadModel

    return logits_of(GPT2LMHeadModel(GPT2Config())), *tokens(50257, batch, length)


def llama(batch=2, length=512):
    """About 160 million parameters, with four heads of keys for twelve of queries."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=768,
        intermediate_size=3072,
        num_hidden_layers=12,
        num_attention_heads=12,
        num_key_value_heads=4,
        max_position_embeddings=1024,
    )
    return logits_of(LlamaForCausalLM(config)), *tokens(32000, batch, length)


def t5(batch=8, length=128):
    """The first half of the tokens is encoded, the second half decoded."""
    from transformers import T5Config, T5ForConditionalGeneration

    class Halves(T5ForConditionalGeneration):
        def forward(self, x):
            source, target = x[:, :length], x[:, length:]
            return super().forward(input_ids=source, decoder_input_ids=target, use_cache=False).logits

    # The sizes of t5-small are the defaults.
    # Attention as matmuls and a softmax, which the exporter takes.
    config = T5Config(decoder_start_token_id=0, attn_implementation="eager")
    x, _ = tokens(32128, batch, 2 * length)
    return Halves(config), x, tokens(32128, batch, length)[1]


def unet(batch=4, size=128, classes=21):
    """U-Net (Ronneberger et al., 2015) with batch normalization and padding."""
    import torch
    from torch import nn

    def block(inputs, outputs):
        layers = []
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self, widths=(64, 128, 256, 512, 1024)):
            super().__init__()
            self.down = nn.ModuleList(block(i, o) for i, o in zip((3, *widths), widths))
            pairs = list(zip(widths[:0:-1], widths[-2::-1]))
            self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) for i, o in pairs)
            self.merge = nn.ModuleList(block(2 * o, o) for _, o in pairs)
            self.head = nn.Conv2d(widths[0], classes, 1)

        def forward(self, x):
            kept = []
            for i, part in enumerate(self.down):
                x = part(x if i == 0 else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for up, merge, skip in zip(self.up, self.merge, kept[-2::-1]):
                x = merge(torch.cat([skip, up(x)], 1))
            return self.head(x)

    return UNet(), torch.randn(batch, 3, size, size), torch.randint(0, classes, (batch, size, size))


def lstm(batch=20, length=35, vocabulary=10000, width=650):
    """The medium model of Zaremba et al. (2014)."""
    from torch import nn

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.rnn = nn.LSTM(width, width, 2, batch_first=True)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, x):
            return self.head(self.rnn(self.tokens(x))[0])

    return LanguageModel(), *tokens(vocabulary, batch, length)


# By name: what makes the model, the steps of a run, and what the table calls it.
MODELS = {
    "resnet50": (lambda batch=16: vision("resnet50", batch), 6, "ResNet-50, 16 x 224 x 224"),
    "efficientnet-b0": (lambda: vision("efficientnet_b0", 16), 8, "EfficientNet-B0, 16 x 224 x 224"),
    "mobilenet-v3": (lambda: vision("mobilenet_v3_large", 16), 10, "MobileNetV3 large, 16 x 224 x 224"),
    "convnext-t": (lambda: vision("convnext_tiny", 16), 6, "ConvNeXt-T, 16 x 224 x 224"),
    "vit-b-16": (lambda: vision("vit_b_16", 8), 6, "ViT-B/16, 8 x 224 x 224"),
    "swin-t": (lambda: vision("swin_t", 16), 6, "Swin-T, 16 x 224 x 224"),
    "bert-base": (bert, 6, "BERT-base, 8 x 128 tokens"),
    "gpt2-512": (gpt2, 6, "GPT-2 124M, 2 x 512 tokens"),
    "llama-160m": (llama, 6, "Llama-like 160M, 2 x 512 tokens"),
    "t5-small": (t5, 6, "T5-small, 8 x 128 + 128 tokens"),
    "unet": (unet, 6, "U-Net, 4 x 128 x 128"),
    "lstm": (lstm, 20, "LSTM language model, 20 x 35 tokens"),
}


def still(module):
    """Without anything random, and with the statistics of training."""
    from torch import nn

    module.eval()
    for part in module.modules():
        for rate in ("p", "dropout", "attention_dropout", "dropout_p", "dropout_prob"):
            if isinstance(getattr(part, rate, None), float):
                setattr(part, rate, 0.0)
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.train()
    return module


def split(name):
    """The name in MODELS, and the batch in `NAME:BATCH`, which not every model takes; none for other names."""
    base, _, batch = name.partition(":")
    if base not in MODELS:
        return None, []
    return base, ([int(batch)] if batch else [])


def make(name):
    base, batch = split(name)
    module, x, labels = MODELS[base][0](*batch)
    return still(module), x, labels


def export(module, x, path, batch=None):
    """`batch` names the first dimension of a file for any batch."""
    sys.path.insert(0, str(HERE.parents[1] / "frontends/torch"))
    import ingot_torch

    names = {"input_names": ["x"], "output_names": ["y"]}
    # What agrees with PyTorch is test/models' concern.
    ingot_torch.export(module, (x,), path=path, batch=batch, check_gradients=False, tolerance=1e-2, **names)

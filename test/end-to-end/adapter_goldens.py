# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-adapters: models whose adapters PEFT trains, with its files before and after, losses and outputs.

Needs PyTorch, transformers and PEFT; the tests do not.
"""

import contextlib
import io
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
import peft
import torch
import torch.nn.functional as F
import transformers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "frontends/torch"))
import ingot_torch  # noqa: E402

PEFT = "0.21.2"
FOLDER = HERE / "goldens-adapters"
STEPS, BATCH, TOKENS, WORDS, CLASSES, LR = 20, 4, 12, 48, 5, 2e-3


class Llama(transformers.LlamaForCausalLM):
    def forward(self, ids):
        return super().forward(input_ids=ids, use_cache=False).logits


class Bert(transformers.BertForSequenceClassification):
    def forward(self, ids):
        return super().forward(input_ids=ids).logits


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
        self.fc = torch.nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.fc(F.relu(self.conv2(F.relu(self.conv1(x)))).mean((2, 3)))


SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "vocab_size": WORDS, "max_position_embeddings": 16}  # fmt: skip
MODELS = {
    "llama": lambda: Llama(transformers.LlamaConfig(**SIZES, num_key_value_heads=2)),
    "bert": lambda: Bert(
        transformers.BertConfig(**SIZES, num_labels=CLASSES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    ),
    "cnn": Cnn,
}
INPUT = {"llama": "ids", "bert": "ids", "cnn": "x"}

# The words of ingotc, and the settings of PEFT that mean the same.
RUNS = [
    ("llama", ["--adapter", "lora:r=4,alpha=8@all-linear"], {"r": 4, "lora_alpha": 8, "target_modules": "all-linear"}),
    ("llama", ["--adapter", "rslora:r=8,alpha=16@q_proj,v_proj"],
     {"r": 8, "lora_alpha": 16, "use_rslora": True, "target_modules": ["q_proj", "v_proj"]}),
    ("llama",
     ["--adapter", "lora:r=2,alpha=6@mlp.up_proj,1.mlp.down_proj", "--adapter", r"lora:r=3@/.*\.0\.[a-z_]+\.q_proj/"],
     {"r": 2, "lora_alpha": 6, "target_modules": r".*\.up_proj|.*\.1\.mlp\.down_proj|.*\.0\.\w+\.q_proj",
      "rank_pattern": {"q_proj": 3}, "alpha_pattern": {"q_proj": 8}}),
    ("bert", ["--adapter", "lora:r=4,alpha=16@query,value", "--adapter-train", "^classifier"],
     {"r": 4, "lora_alpha": 16, "target_modules": ["query", "value"], "modules_to_save": ["classifier"]}),
    ("bert", ["--adapter", "rslora:r=2,alpha=4,bias=adapters@dense"],
     {"r": 2, "lora_alpha": 4, "use_rslora": True, "target_modules": ["dense"], "bias": "lora_only"}),
    ("llama", ["--adapter", "dora:r=4,alpha=8@all-linear"],
     {"r": 4, "lora_alpha": 8, "use_dora": True, "target_modules": "all-linear"}),
    ("bert", ["--adapter", "dora:r=4@query,dense"],
     {"r": 4, "lora_alpha": 8, "use_dora": True, "target_modules": ["query", "dense"]}),
    ("bert", ["--adapter", "lora:r=4,alpha=4@word_embeddings,query"],
     {"r": 4, "lora_alpha": 4, "target_modules": ["word_embeddings", "query"]}),
    ("cnn", ["--adapter", "lora:r=4,alpha=8,bias=adapters@conv1,conv2,fc"],
     {"r": 4, "lora_alpha": 8, "target_modules": ["conv1", "conv2", "fc"], "bias": "lora_only"}),
    ("cnn", ["--adapter", "rslora:r=2,alpha=4@conv2"],
     {"r": 2, "lora_alpha": 4, "use_rslora": True, "target_modules": ["conv2"]}),
    ("cnn", ["--adapter", "dora:r=4@conv1,conv2,fc"],
     {"r": 4, "lora_alpha": 8, "use_dora": True, "target_modules": ["conv1", "conv2", "fc"]}),
    ("bert", ["--adapter", "dora:r=4,alpha=4@word_embeddings,query"],
     {"r": 4, "lora_alpha": 4, "use_dora": True, "target_modules": ["word_embeddings", "query"]}),
]  # fmt: skip


def build(name):
    torch.manual_seed(7)
    model = MODELS[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            # Nothing is at its initial value in a model that is tuned.
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def make_data(name):
    generator = torch.Generator().manual_seed(3)
    if name == "cnn":
        x = torch.randn(STEPS * BATCH, 3, 8, 8, generator=generator)
        return x, (x[:, 0, 0, 0] * 10).long().abs() % CLASSES
    ids = torch.randint(0, WORDS, (STEPS * BATCH, TOKENS), generator=generator)
    labels = ids.roll(-1, 1) if name == "llama" else ids[:, 0] % CLASSES
    return ids, labels


def loss_of(logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def train(name, settings, folder):
    """Saves the adapter before and after, and returns losses and the outputs of the first samples."""
    ids, labels = make_data(name)
    torch.manual_seed(11)
    model = peft.get_peft_model(build(name), peft.LoraConfig(**settings))
    for part in ("before", "after"):
        (folder / part).mkdir(parents=True)
    model.save_pretrained(folder / "before")
    model.eval()
    for part in model.modules():
        # A row for padding is one like others in ONNX.
        if isinstance(part, torch.nn.Embedding):
            part.padding_idx = None
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=LR, weight_decay=0.01)
    losses = []
    for step in range(STEPS):
        at = slice(step * BATCH, (step + 1) * BATCH)
        loss = loss_of(model(ids[at]), labels[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained(folder / "after")
    with torch.no_grad():
        outputs = model(ids[:BATCH]).numpy()
    for path in folder.glob("*/README.md"):
        path.unlink()
    return losses, outputs


def shrink(path):
    """Leaves out what a file says of the program's lines."""
    model = onnx.load(path)
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
        kept = [entry for entry in part.metadata_props if entry.key == "pkg.torch.onnx.name_scopes"]
        del part.metadata_props[:]
        part.metadata_props.extend(kept)
    onnx.save(model, path)


def main():
    if peft.__version__ != PEFT:
        sys.exit(f"error: peft: version {peft.__version__}\nhint: pip install peft=={PEFT}")
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    record = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": PEFT, "lr": LR,
              "batch": BATCH, "runs": []}  # fmt: skip
    for name in MODELS:
        ids, labels = make_data(name)
        (FOLDER / name).mkdir(parents=True)
        np.savez_compressed(FOLDER / name / "data.npz", **{INPUT[name]: ids.numpy()}, labels=labels.numpy())
        with contextlib.redirect_stdout(io.StringIO()):
            ingot_torch.export(
                build(name), (ids[:BATCH],), path=FOLDER / name / "model.onnx", input_names=[INPUT[name]],
                check_gradients=False,
            )  # fmt: skip
        shrink(FOLDER / name / "model.onnx")
    for i, (name, flags, settings) in enumerate(RUNS):
        folder = FOLDER / name / f"run-{i}"
        losses, outputs = train(name, settings, folder)
        np.save(folder / "outputs.npy", outputs)
        record["runs"].append({"model": name, "folder": f"{name}/run-{i}", "compile": flags, "losses": losses})
    (FOLDER / "golden.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

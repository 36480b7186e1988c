# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-losses.json: losses by PyTorch, metrics by scikit-learn.

Each run takes STEPS steps of SGD on the data of a case of goldens.py, and
evaluates all of it. Needs PyTorch, torchvision and scikit-learn; the tests do
not.
"""

import copy
import json

import goldens
import numpy as np
import sklearn.metrics as sk
import torch
import torch.nn.functional as F
from cases.training.losses import spread
from torchvision.ops import sigmoid_focal_loss

STEPS, RATE = 10, "0.05"
CLASS_WEIGHTS = [1, 0.5, 2, 1, 1, 3, 1, 0.25, 1, 1.5]


def text(weights):
    return "/".join(f"{w:g}" for w in weights)


def focal(logits, labels, gamma, weights=None):
    nll = F.cross_entropy(logits, labels, reduction="none")
    factors = torch.ones_like(nll) if weights is None else weights[labels]
    return (factors * (1 - torch.exp(-nll)) ** gamma * nll).sum() / factors.sum()


def weights_of(tensor, weights):
    return torch.tensor(weights, dtype=tensor.dtype)


def with_log_softmax(loss):
    return lambda y, t: loss(F.log_softmax(y, 1), t)


def kl_div(y, t):
    return F.kl_div(F.log_softmax(y, 1), torch.from_numpy(spread(t.numpy())), reduction="batchmean")


# The case, the loss as ingotc takes it, and as PyTorch computes it. The test appends a LogSoftmax to the model where
# the loss takes logarithms of probabilities.
LOSSES = [
    ("mlp", "cross-entropy:smoothing=0.1", lambda y, t: F.cross_entropy(y, t, label_smoothing=0.1)),
    (
        "mlp",
        f"cross-entropy:weights={text(CLASS_WEIGHTS)}",
        lambda y, t: F.cross_entropy(y, t, weight=weights_of(y, CLASS_WEIGHTS)),
    ),
    (
        "mlp",
        f"cross-entropy:weights={text(CLASS_WEIGHTS)},smoothing=0.2",
        lambda y, t: F.cross_entropy(y, t, weight=weights_of(y, CLASS_WEIGHTS), label_smoothing=0.2),
    ),
    ("mlp", "cross-entropy:focal=2", lambda y, t: focal(y, t, 2)),
    (
        "mlp",
        f"cross-entropy:focal=0.5,weights={text(CLASS_WEIGHTS)}",
        lambda y, t: focal(y, t, 0.5, weights_of(y, CLASS_WEIGHTS)),
    ),
    (
        "mlp",
        "cross-entropy+0.25*cross-entropy:focal=1",
        lambda y, t: F.cross_entropy(y, t) + 0.25 * focal(y, t, 1),
    ),
    (
        "segmentation",
        "cross-entropy:1,smoothing=0.1,weights=1/2/0.5/1/3",
        lambda y, t: F.cross_entropy(y, t, weight=weights_of(y, [1, 2, 0.5, 1, 3]), label_smoothing=0.1),
    ),
    (
        "multilabel",
        "bce-with-logits:focal=2,alpha=0.25",
        lambda y, t: sigmoid_focal_loss(y, t, alpha=0.25, gamma=2, reduction="mean"),
    ),
    (
        "multilabel",
        "bce-with-logits:pos-weight=1/2/0.5/4/1/3",
        lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=weights_of(y, [1, 2, 0.5, 4, 1, 3])),
    ),
    (
        "multilabel",
        "bce-with-logits:pos-weight=3",
        lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=weights_of(y, [3])),
    ),
    ("mlp", "nll", with_log_softmax(F.nll_loss)),
    (
        "segmentation",
        "NLLLoss:1,weights=1/2/0.5/1/3",
        with_log_softmax(lambda y, t: F.nll_loss(y, t, weight=weights_of(y, [1, 2, 0.5, 1, 3]))),
    ),
    ("mlp", "kl-div", kl_div),
    ("regression", "l1", F.l1_loss),
    ("regression", "huber", F.huber_loss),
    ("regression", "huber:0.25", lambda y, t: F.huber_loss(y, t, delta=0.25)),
    ("regression", "smooth_l1", F.smooth_l1_loss),
    ("regression", "SmoothL1Loss:0.5", lambda y, t: F.smooth_l1_loss(y, t, beta=0.5)),
    ("regression", "smooth-l1:0", lambda y, t: F.smooth_l1_loss(y, t, beta=0)),
]


def ofclasses(y, labels, loss):
    p = y.double().softmax(1).numpy()
    return {
        "accuracy": sk.accuracy_score(labels, p.argmax(1)),
        "top1": sk.top_k_accuracy_score(labels, p, k=1),
        "top3": sk.top_k_accuracy_score(labels, p, k=3),
        "f1": sk.f1_score(labels, p.argmax(1), average="macro"),
        "auc": sk.roc_auc_score(labels, p, multi_class="ovr"),
        "confusion": sk.confusion_matrix(labels, p.argmax(1), labels=range(p.shape[1])).tolist(),
        "perplexity": float(np.exp(loss)),
    }


def ofpixels(y, labels, loss):
    """Classes along axis 1, some labels ignored."""
    counted = labels.ravel() != -100
    rows = y.movedim(1, -1).reshape(-1, y.shape[1])[counted]
    return ofclasses(rows, labels.ravel()[counted], loss)


def ofprobabilities(y, labels, loss):
    y = y.numpy()
    return {
        "accuracy": sk.accuracy_score(labels, y > 0),
        "f1": sk.f1_score(labels, y > 0, average="macro"),
        "auc": sk.roc_auc_score(labels, y),
    }


def ofvalues(y, labels, loss):
    y = y.double().numpy()
    return {"mae": sk.mean_absolute_error(labels, y), "r2": sk.r2_score(labels, y)}


def ofdistributions(y, labels, loss):
    """The likeliest class of each is the label that `spread` was made of."""
    return {name: value for name, value in ofclasses(y, labels, loss).items() if name != "perplexity"}


METRICS = {"mlp": ofclasses, "segmentation": ofpixels, "multilabel": ofprobabilities, "regression": ofvalues}


def ofcounted(y, labels, loss):
    """Labels of IGNORED do not count."""
    counted = labels != IGNORED
    p, labels = y.double().softmax(1).numpy()[counted], labels[counted]
    return {
        "accuracy": sk.accuracy_score(labels, p.argmax(1)),
        "top3": sk.top_k_accuracy_score(labels, p, k=3, labels=range(p.shape[1])),
        "f1": sk.f1_score(labels, p.argmax(1), average="macro"),
        "perplexity": float(np.exp(loss)),
    }


def ofcolumns(y, labels, loss):
    """Columns without positives count as 0."""
    y = y.numpy()
    return {
        "accuracy": sk.accuracy_score(labels, y > 0),
        "f1": sk.f1_score(labels, y > 0, average="macro", zero_division=0),
    }


IGNORED = 3
# The case, its loss, and what is computed of each training step.
TRAINING = [
    ("mlp", f"cross-entropy:ignore={IGNORED}", lambda y, t: F.cross_entropy(y, t, ignore_index=IGNORED), ofcounted),
    ("multilabel", "bce-with-logits", F.binary_cross_entropy_with_logits, ofcolumns),
    ("regression", "mse", F.mse_loss, ofvalues),
]


def train(name, loss_of, data, metrics_of=None):
    case = goldens.CASES[name]
    torch.manual_seed(0)
    model = copy.deepcopy(case.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=float(RATE))
    losses, metrics = [], []
    for step in range(STEPS):
        at = step % goldens.BATCHES * case.batch
        optimizer.zero_grad()
        output, labels = model(data["x"][at : at + case.batch]), data["labels"][at : at + case.batch]
        loss = loss_of(output, labels)
        if metrics_of:
            metrics.append(metrics_of(output.detach(), labels.numpy(), loss.item()))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if metrics_of:
        return losses, {name: [step[name] for step in metrics] for name in metrics[0]}
    model.eval()
    with torch.no_grad():
        output = model(data["x"])
        return losses, loss_of(output, data["labels"]).item(), output


def main():
    torch.set_num_threads(1)
    record = {"steps": STEPS, "lr": RATE, "losses": [], "metrics": {}, "training": []}
    sets = {
        name: goldens.CASES[name].data(torch.Generator().manual_seed(1), goldens.BATCHES * goldens.CASES[name].batch)
        for name in METRICS
    }
    for name, flag, loss_of in LOSSES:
        losses, evaluated, _ = train(name, loss_of, sets[name])
        record["losses"].append({"case": name, "loss": flag, "losses": losses, "eval_loss": evaluated})
    plain = {
        "mlp": F.cross_entropy, "segmentation": F.cross_entropy,
        "multilabel": F.binary_cross_entropy_with_logits, "regression": F.mse_loss,
    }  # fmt: skip
    _, evaluated, output = train("mlp", kl_div, sets["mlp"])
    record["kl-div"] = ofdistributions(output, sets["mlp"]["labels"].numpy(), evaluated)
    for name, metrics in METRICS.items():
        _, evaluated, output = train(name, plain[name], sets[name])
        record["metrics"][name] = metrics(output, sets[name]["labels"].numpy(), evaluated)
    for name, flag, loss_of, metrics_of in TRAINING:
        losses, metrics = train(name, loss_of, sets[name], metrics_of)
        record["training"].append({"case": name, "loss": flag, "losses": losses, "metrics": metrics})
    path = goldens.HERE / "goldens-losses.json"
    path.write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Models that no package has in one call: recurrent language models, DLRM, layers of graph networks."""

from .example import BATCH, STEPS, Example, Model, tokens

NODES, EDGES, FEATURES = 24, 80, 12


def language_model(cell, layers=2, tied=False, bidirectional=False):
    def build():
        from torch import nn

        class LanguageModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens = nn.Embedding(64, 32)
                self.rnn = getattr(nn, cell)(32, 32, layers, batch_first=True, bidirectional=bidirectional)
                self.head = nn.Linear(64 if bidirectional else 32, 64)
                if tied:
                    self.head.weight = self.tokens.weight

            def forward(self, ids):
                return self.head(self.rnn(self.tokens(ids))[0])

        return Example(LanguageModel(), tokens(64, 10, name="ids"))

    return build


def dlrm():
    """Bottom and top MLP, embedding bags, and the products of all pairs."""
    import torch
    from torch import nn

    class Dlrm(nn.Module):
        def __init__(self, tables=6, rows=50, width=16):
            super().__init__()
            self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
            self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
            pairs = torch.tril_indices(tables + 1, tables + 1, -1)
            self.register_buffer("rows", pairs[0])
            self.register_buffer("columns", pairs[1])
            self.top = nn.Sequential(nn.Linear(width + pairs.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))

        def forward(self, dense, sparse):
            x = self.bottom(dense)
            parts = [x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)]
            all_parts = torch.stack(parts, 1)
            products = all_parts @ all_parts.transpose(1, 2)
            return self.top(torch.cat([x, products[:, self.rows, self.columns]], 1))

    count = BATCH * STEPS
    data = {"dense": torch.randn(count, 13), "sparse": torch.randint(0, 50, (count, 6, 3))}
    return Example(Dlrm(), data, "bce-with-logits")


def graph_network(kind):
    """Layers of a graph network, as torch_geometric writes them, on one fixed graph."""

    def build():
        import torch
        import torch.nn.functional as F
        from torch import nn

        source, target = torch.randint(0, NODES, (2, EDGES))
        loops = torch.arange(NODES)
        source, target = torch.cat([source, loops]), torch.cat([target, loops])

        def sums(values):
            index = target.view(1, -1, *[1] * (values.ndim - 2)).expand_as(values)
            return values.new_zeros(values.shape[0], NODES, *values.shape[2:]).scatter_add(1, index, values)

        class Layer(nn.Module):
            def __init__(self, inputs, outputs):
                super().__init__()
                if kind != "edge":
                    self.linear = nn.Linear(inputs, outputs)
                if kind == "gat":
                    self.from_source, self.from_target = nn.Linear(outputs, 1), nn.Linear(outputs, 1)
                if kind == "sage":
                    self.own = nn.Linear(inputs, outputs)
                if kind == "gin":
                    self.second, self.epsilon = nn.Linear(outputs, outputs), nn.Parameter(torch.tensor(0.1))
                if kind == "edge":
                    self.pair = nn.Linear(2 * inputs, outputs)
                degree = torch.bincount(target, minlength=NODES).float()
                self.register_buffer("scale", (degree[source] * degree[target]).rsqrt()[:, None])
                self.register_buffer("degree", degree[:, None])

            def forward(self, x):
                if kind == "gcn":
                    return sums(self.linear(x)[:, source] * self.scale)
                if kind == "sage":
                    return self.own(x) + self.linear(sums(x[:, source]) / self.degree)
                if kind == "gin":
                    return self.second(F.silu(self.linear(sums(x[:, source]) + self.epsilon * x)))
                if kind == "edge":
                    both = self.pair(torch.cat([x[:, target], x[:, source] - x[:, target]], -1))
                    index = target.view(1, -1, 1).expand_as(both)
                    start = both.new_zeros(both.shape[0], NODES, both.shape[2])
                    return start.scatter_reduce(1, index, both, "amax", include_self=False)
                h = self.linear(x)
                scores = F.leaky_relu(self.from_source(h)[:, source] + self.from_target(h)[:, target], 0.2)
                weights = scores.exp()
                return sums(h[:, source] * weights) / sums(weights)

        class Network(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = Layer(FEATURES, 16), Layer(16, 5)

            def forward(self, nodes):
                return self.second(F.elu(self.first(nodes)))

        return Example(Network(), {"nodes": torch.randn(BATCH * STEPS, NODES, FEATURES)})

    return build


def models():
    for cell in ("LSTM", "GRU", "RNN"):
        yield Model(f"written/{cell.lower()}-language-model", "recurrent", language_model(cell))
    yield Model("written/lstm-bidirectional", "recurrent", language_model("LSTM", 1, bidirectional=True))
    yield Model("written/lstm-tied", "recurrent", language_model("LSTM", 1, tied=True))
    yield Model("written/dlrm", "recommendation", dlrm)
    for kind in ("gcn", "gat", "sage", "gin", "edge"):
        yield Model(f"written/graph-{kind}", "graph networks", graph_network(kind))
    yield Model("written/lstm-torchscript", "torchscript exporter", language_model("LSTM"), "torchscript")
    yield Model("written/graph-gcn-torchscript", "torchscript exporter", graph_network("gcn"), "torchscript")

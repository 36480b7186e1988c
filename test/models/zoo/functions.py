# SPDX-License-Identifier: Apache-2.0
"""Models of JAX, written with Flax's modules: what another framework's exporter makes of usual architectures."""

from .example import BATCH, STEPS, Example, Model


def split(module):
    """`apply(values, *inputs)`, and the values, as a list of arrays."""
    import jax
    import numpy as np
    from flax import nnx

    graph, state = nnx.split(module)
    leaves, tree = jax.tree_util.tree_flatten(state)

    def apply(values, *inputs):
        return nnx.merge(graph, jax.tree_util.tree_unflatten(tree, values))(*inputs)

    return apply, [np.asarray(leaf) for leaf in leaves]


def random(*shape):
    import numpy as np

    return np.random.default_rng(1).standard_normal((BATCH * STEPS, *shape)).astype(np.float32)


def words(length, vocabulary=48):
    import numpy as np

    return np.random.default_rng(2).integers(0, vocabulary, (BATCH * STEPS, length)).astype(np.int32)


def block(nnx, width, heads, rngs):
    """A transformer's layer, with the norms first."""

    class Block(nnx.Module):
        def __init__(self):
            self.before, self.between = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
            self.wide = nnx.Linear(width, 2 * width, rngs=rngs)
            self.narrow = nnx.Linear(2 * width, width, rngs=rngs)

        def __call__(self, x, mask=None):
            x = x + self.attention(self.before(x), mask=mask)
            return x + self.narrow(nnx.gelu(self.wide(self.between(x))))

    return Block()


def mlp(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.first, self.second = nnx.Linear(20, 32, rngs=rngs), nnx.Linear(32, 24, rngs=rngs)
            self.head = nnx.Linear(24, 5, rngs=rngs)

        def __call__(self, x):
            return self.head(nnx.silu(self.second(nnx.gelu(self.first(x)))))

    return Network(), {"x": random(20)}, "cross-entropy"


def autoencoder(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            sizes = (24, 16, 4, 16, 24)
            self.layers = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in zip(sizes, sizes[1:])])

        def __call__(self, x):
            for layer in self.layers[:-1]:
                x = nnx.tanh(layer(x))
            return self.layers[-1](x)

    return Network(), {"x": random(24)}, "mse"


def gated(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.value, self.gate = nnx.Linear(16, 32, rngs=rngs), nnx.Linear(16, 32, rngs=rngs)
            self.norm, self.head = nnx.RMSNorm(32, rngs=rngs), nnx.Linear(32, 3, rngs=rngs)

        def __call__(self, x):
            return self.head(self.norm(self.value(x) * nnx.sigmoid(self.gate(x))))

    return Network(), {"x": random(16)}, "mse"


def convolutional(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.first = nnx.Conv(3, 8, (3, 3), rngs=rngs)
            self.second = nnx.Conv(8, 16, (3, 3), rngs=rngs)
            self.head = nnx.Linear(16 * 16, 5, rngs=rngs)

        def __call__(self, x):
            x = nnx.avg_pool(nnx.relu(self.first(x)), window_shape=(2, 2), strides=(2, 2))
            x = nnx.max_pool(nnx.relu(self.second(x)), window_shape=(2, 2), strides=(2, 2))
            return self.head(x.reshape(x.shape[0], -1))

    return Network(), {"x": random(16, 16, 3)}, "cross-entropy"


def residual(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.stem = nnx.Conv(3, 16, (3, 3), rngs=rngs)
            self.norms = nnx.List([nnx.GroupNorm(16, num_groups=4, rngs=rngs) for _ in range(4)])
            self.convolutions = nnx.List([nnx.Conv(16, 16, (3, 3), use_bias=False, rngs=rngs) for _ in range(4)])
            self.head = nnx.Linear(16, 5, rngs=rngs)

        def __call__(self, x):
            x = self.stem(x)
            for i in (0, 2):
                y = self.convolutions[i](nnx.silu(self.norms[i](x)))
                x = x + self.convolutions[i + 1](nnx.silu(self.norms[i + 1](y)))
            return self.head(x.mean((1, 2)))

    return Network(), {"x": random(12, 12, 3)}, "cross-entropy"


def separable(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.stem = nnx.Conv(3, 8, (3, 3), strides=(2, 2), rngs=rngs)
            self.deep = nnx.Conv(8, 8, (3, 3), feature_group_count=8, rngs=rngs)
            self.across = nnx.Conv(8, 16, (1, 1), rngs=rngs)
            self.head = nnx.Linear(16, 5, rngs=rngs)

        def __call__(self, x):
            x = nnx.silu(self.across(nnx.silu(self.deep(nnx.silu(self.stem(x))))))
            return self.head(x.mean((1, 2)))

    return Network(), {"x": random(16, 16, 3)}, "cross-entropy"


def dilated(nnx, rngs):
    """Causal convolutions over a sequence, as WaveNet's."""

    class Network(nnx.Module):
        def __init__(self):
            self.first = nnx.Conv(6, 16, (3,), padding="CAUSAL", rngs=rngs)
            self.second = nnx.Conv(16, 16, (3,), kernel_dilation=(2,), padding="CAUSAL", rngs=rngs)
            self.head = nnx.Linear(16, 6, rngs=rngs)

        def __call__(self, x):
            y = nnx.tanh(self.first(x))
            return self.head(y + nnx.tanh(self.second(y)))

    return Network(), {"x": random(20, 6)}, "mse"


def vision_transformer(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.patches = nnx.Conv(3, 32, (4, 4), strides=(4, 4), padding="VALID", rngs=rngs)
            self.positions = nnx.Param(nnx.initializers.normal(0.1)(rngs.params(), (1, 16, 32)))
            self.blocks = nnx.List([block(nnx, 32, 4, rngs) for _ in range(2)])
            self.norm, self.head = nnx.LayerNorm(32, rngs=rngs), nnx.Linear(32, 5, rngs=rngs)

        def __call__(self, x):
            x = self.patches(x)
            x = x.reshape(x.shape[0], 16, 32) + self.positions[...]
            for layer in self.blocks:
                x = layer(x)
            return self.head(self.norm(x).mean(1))

    return Network(), {"x": random(16, 16, 3)}, "cross-entropy"


def mixer(nnx, rngs):
    class Network(nnx.Module):
        def __init__(self):
            self.patches = nnx.Conv(3, 24, (4, 4), strides=(4, 4), padding="VALID", rngs=rngs)
            self.norms = nnx.List([nnx.LayerNorm(24, rngs=rngs) for _ in range(2)])
            self.tokens = nnx.List([nnx.Linear(16, 32, rngs=rngs), nnx.Linear(32, 16, rngs=rngs)])
            self.channels = nnx.List([nnx.Linear(24, 48, rngs=rngs), nnx.Linear(48, 24, rngs=rngs)])
            self.head = nnx.Linear(24, 5, rngs=rngs)

        def __call__(self, x):
            x = self.patches(x)
            x = x.reshape(x.shape[0], 16, 24)
            y = self.norms[0](x).transpose(0, 2, 1)
            x = x + self.tokens[1](nnx.gelu(self.tokens[0](y))).transpose(0, 2, 1)
            x = x + self.channels[1](nnx.gelu(self.channels[0](self.norms[1](x))))
            return self.head(x.mean(1))

    return Network(), {"x": random(16, 16, 3)}, "cross-entropy"


def language(causal):
    def make(nnx, rngs):
        import numpy as np

        class Network(nnx.Module):
            def __init__(self):
                self.words, self.positions = nnx.Embed(48, 32, rngs=rngs), nnx.Embed(12, 32, rngs=rngs)
                self.blocks = nnx.List([block(nnx, 32, 4, rngs) for _ in range(2)])
                self.norm = nnx.LayerNorm(32, rngs=rngs)
                self.head = nnx.Linear(32, 48, use_bias=False, rngs=rngs)

            def __call__(self, ids):
                x = self.words(ids) + self.positions(np.arange(12, dtype=np.int32))
                mask = np.tril(np.ones((1, 1, 12, 12), bool)) if causal else None
                for layer in self.blocks:
                    x = layer(x, mask)
                return self.head(self.norm(x))

        return Network(), {"ids": words(12)}, "cross-entropy"

    return make


def recurrent(nnx, rngs):
    """Gates written out, over a fixed number of steps."""

    class Network(nnx.Module):
        def __init__(self):
            self.words = nnx.Embed(48, 16, rngs=rngs)
            self.gates, self.state = nnx.Linear(32, 32, rngs=rngs), nnx.Linear(32, 16, rngs=rngs)
            self.head = nnx.Linear(16, 48, rngs=rngs)

        def __call__(self, ids):
            import jax.numpy as jnp

            x, outputs = self.words(ids), []
            h = jnp.zeros_like(x[:, 0])
            for t in range(8):
                both = nnx.sigmoid(self.gates(jnp.concatenate([x[:, t], h], -1)))
                update, reset = both[:, :16], both[:, 16:]
                new = nnx.tanh(self.state(jnp.concatenate([x[:, t], reset * h], -1)))
                h = update * h + (1 - update) * new
                outputs.append(h)
            return self.head(jnp.stack(outputs, 1))

    return Network(), {"ids": words(8)}, "cross-entropy"


MODELS = {
    "mlp": mlp,
    "autoencoder": autoencoder,
    "gated": gated,
    "convolutional": convolutional,
    "residual": residual,
    "separable": separable,
    "dilated": dilated,
    "vision-transformer": vision_transformer,
    "mixer": mixer,
    "encoder": language(causal=False),
    "decoder": language(causal=True),
    "recurrent": recurrent,
}


def model(make):
    def build():
        from flax import nnx

        module, inputs, loss = make(nnx, nnx.Rngs(0))
        return Example(split(module), inputs, loss)

    return build


def models():
    for name, make in MODELS.items():
        yield Model(f"jax/{name}", "jax's exporter", model(make), exporter="jax")

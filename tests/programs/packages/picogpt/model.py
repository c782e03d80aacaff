import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    exp_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exp_x / np.sum(exp_x, axis=-1, keepdims=True)


def layer_norm(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def linear(x, w, b):
    return x @ w + b


def ffn(x, c_fc, c_proj):
    return linear(gelu(linear(x, **c_fc)), **c_proj)


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv = np.split(x, 3, axis=-1)
    qkv_heads = list(map(lambda x: np.split(x, n_head, axis=-1), qkv))
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


def transformer_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    x = x + ffn(layer_norm(x, **ln_2), **mlp)
    return x


def gpt2(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def loss(params, tokens, n_head=2):
    """Mean negative log likelihood of each next token."""
    logits = gpt2(tokens[:-1], **params, n_head=n_head)
    probabilities = softmax(logits)[np.arange(len(tokens) - 1), tokens[1:]]
    return -np.log(probabilities).mean()


def generate(inputs, params, n_head=2, n_tokens_to_generate=4):
    assert len(inputs) + n_tokens_to_generate <= len(params["wpe"])
    inputs = list(inputs)
    for _ in range(n_tokens_to_generate):
        logits = gpt2(inputs, **params, n_head=n_head)
        next_id = np.argmax(logits[-1])
        inputs.append(int(next_id))
    return inputs[len(inputs) - n_tokens_to_generate :]


def random_params(rng, vocabulary=20, context=16, width=8, layers=2):
    def dense(n, m):
        return {"w": 0.3 * rng.normal(size=(n, m)), "b": np.zeros(m)}

    def norm():
        return {"g": np.ones(width), "b": np.zeros(width)}

    blocks = [
        {
            "mlp": {"c_fc": dense(width, 4 * width), "c_proj": dense(4 * width, width)},
            "attn": {"c_attn": dense(width, 3 * width), "c_proj": dense(width, width)},
            "ln_1": norm(),
            "ln_2": norm(),
        }
        for _ in range(layers)
    ]
    return {
        "wte": rng.normal(size=(vocabulary, width)),
        "wpe": 0.1 * rng.normal(size=(context, width)),
        "blocks": blocks,
        "ln_f": norm(),
    }

"""Golden numbers G32 to G36: adversarial examples, contrastive losses, embeddings and the losses
of large vocabularies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as wf
from tests.systems.models import (
    array,
    binary_cross_entropy,
    check,
    cross_entropy,
    log_softmax,
    near,
    run,
    sigmoid,
    softplus,
)


def test_g32_fast_gradient_sign() -> None:
    w, b = array(0.8, -0.6), 0.1

    def loss(x: Any) -> Any:
        return binary_cross_entropy(w @ x + b, 1.0)

    def attack(x: Any) -> Any:
        return x + 0.007 * np.sign(wf.grad(loss)(x))

    near(run(loss, array(1, 2)), 0.8543552445)
    near(run(attack, array(1, 2)), array(0.993, 2.007))
    near(run(lambda x: loss(attack(x)), array(1, 2)), 0.8599965143)


def test_g33_contrastive_loss_of_rows() -> None:
    def loss(similarities: Any) -> Any:
        return -np.mean(np.diagonal(log_softmax(similarities / 0.5)))

    similarities = array([0.9, 0.1], [0.2, 0.8])
    p = np.exp(similarities / 0.5)
    p /= p.sum(axis=1, keepdims=True)
    check(loss, [similarities], 0.2235916041, [(p - np.eye(2)) / 0.5 / 2])


def test_g34_continuous_bag_of_words_with_a_repeated_index() -> None:
    def network(embedding: Any, output: Any, context: Any) -> Any:
        h = np.sum(embedding[context], axis=0)
        logits = output @ h
        return cross_entropy(logits, 1), (h, logits)

    embedding = array([1, 0], [0, 1], [1, 1], [2, -1])
    output = array([1, 0], [0, 1], [1, 1], [-1, 1])
    context = np.array([0, 2, 2])
    _, inner = run(network, embedding, output, context)
    near(inner, (array(3, 2), array(3, 2, 5, -1)))
    row = [0.9539032319, -0.113956852]
    gradient = array(row, [0, 0], [1.9078064637, -0.227913704], [0, 0])
    check(lambda e, u: network(e, u, context)[0], [embedding, output], 3.171935393329, [gradient])


# --- G35: hierarchical softmax --------------------------------------------------------------------


def leaf_log_probability(weights: Any, z: Any, leaf: int, depth: int) -> Any:
    """Along the path to a leaf of a balanced tree, whose nodes lie level by level."""
    total, node = 0.0, 0
    for level in reversed(range(depth)):
        branch = leaf >> level & 1
        logit = weights[node] @ z
        total = total - softplus(-logit if branch else logit)
        node = 2 * node + 1 + branch
    return total


def test_g35_leaves_of_a_tree_of_four() -> None:
    weights, z = array([1, -1], [0.5, 0.5], [-1, 0]), array(1, 2)

    def leaves(weights: Any, z: Any) -> Any:
        return np.exp(np.stack([leaf_log_probability(weights, z, leaf, 2) for leaf in range(4)]))

    probabilities = run(leaves, weights, z)
    near(probabilities, array(0.1333637441, 0.5976948345, 0.1966119332, 0.0723294881))
    near(probabilities.sum(), 1.0)


def test_g35_gradients_touch_the_path_only() -> None:
    weights, z = array([1, -1], [0.5, 0.5], [-1, 0]), array(1, 2)

    def loss(weights: Any, z: Any) -> Any:
        return -leaf_log_probability(weights, z, 1, 2)

    root, left = [0.2689414214, 0.5378828427], [-0.1824255238, -0.3648510476]
    gradients = [array(root, left, [0, 0]), array(0.1777286595, -0.3601541833)]
    check(loss, [weights, z], 0.5146749655, gradients)
    assert not run(wf.grad(loss), weights, z)[2].any()


def test_g35_sixteen_leaves_touch_four_of_fifteen_nodes() -> None:
    weights, z = np.zeros((15, 2)), array(1, 2)
    for leaf in (0, 6, 15):

        def loss(weights: Any, leaf: int = leaf) -> Any:
            return -leaf_log_probability(weights, z, leaf, 4)

        value, gradient = run(wf.value_and_grad(loss), weights)
        near(np.exp(-value), 1 / 16)
        assert np.count_nonzero(gradient.any(axis=1)) == 4


def test_g35_huffman_depth_is_the_gradient_of_its_cost() -> None:
    """Merging the two rarest symbols costs what they weigh; a leaf pays once for each merge above
    it.
    """

    def merge(weights: Any, _: Any) -> Any:
        order = np.argsort(weights)
        merged = weights[order[0]] + weights[order[1]]
        return weights.at[order[0]].set(merged).at[order[1]].set(np.inf), merged

    def expected_depth(frequencies: Any) -> Any:
        return np.sum(wf.scan(merge, frequencies, length=3)[1])

    check(expected_depth, [array(0.4, 0.3, 0.2, 0.1)], 1.9, [array(1, 2, 3, 3)])


# --- G36: negative sampling -----------------------------------------------------------------------


def test_g36_negative_sampling() -> None:
    def loss(positive: Any, negatives: Any) -> Any:
        return softplus(-positive) + np.sum(softplus(negatives))

    negatives = array(-0.5, 2)
    gradients = [-1 / (1 + np.exp(1.5)), 1 / (1 + np.exp(-negatives))]
    check(loss, [1.5, negatives], 2.8024182732, gradients)
    near(
        run(lambda p, n: -np.log(sigmoid(p)) - np.sum(np.log(sigmoid(-n))), 1.5, negatives),
        2.8024182732,
    )


def test_g36_exact_gradient_of_the_softmax_it_replaces() -> None:
    gradient = array(0.1562052655, -0.0420100661, -0.1141951994)
    near(run(wf.grad(lambda eta: -cross_entropy(eta, 0)), array(3, 0, 1)), gradient)

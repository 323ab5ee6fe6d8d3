"""Invented texts and vectors: the same in every run, and shaped as they claim to be."""

import subprocess
import sys
from collections import Counter

import numpy as np

from ricordo.bench.invented import TOPIC_NAMES, InventedTexts, SyntheticEmbedder


def test_texts_are_the_same_for_the_same_seed() -> None:
    assert InventedTexts(3).texts(50) == InventedTexts(3).texts(50)
    assert InventedTexts(3).texts(50) != InventedTexts(4).texts(50)


def test_texts_are_sentences_of_8_to_25_words_no_two_the_same() -> None:
    texts = InventedTexts().texts(2_000)
    assert len(texts) == len(set(texts)) == 2_000
    lengths = {len(text.split()) for text in texts}
    assert (min(lengths), max(lengths)) == (8, 25)
    assert all(text.endswith(".") and text[0].isupper() for text in texts)


def test_few_words_are_used_often_and_many_hardly_ever() -> None:
    counts = Counter(" ".join(InventedTexts().texts(2_000)).lower().split())
    used = sum(counts.values())
    assert sum(count for _, count in counts.most_common(20)) > used / 5
    assert sum(1 for count in counts.values() if count == 1) > len(counts) / 5


def test_half_of_the_queries_come_from_stored_texts() -> None:
    source = InventedTexts()
    texts = source.texts(200)
    queries = source.queries(40, texts)
    assert all(3 <= len(query.split()) <= 8 for query in queries)
    words = [set(text.strip(".").lower().split()) for text in texts]
    stored = [any(set(query.split()) <= known for known in words) for query in queries]
    assert all(stored[1::2])
    assert not all(stored[0::2])


def test_vectors_have_unit_length_and_lie_near_their_topic() -> None:
    first, second = TOPIC_NAMES[:2]
    texts = [f"about {first} {n}" for n in range(30)] + [f"about {second} {n}" for n in range(30)]
    vectors = SyntheticEmbedder().embed(texts)
    assert (vectors.shape, vectors.dtype) == ((60, 384), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = vectors @ vectors.T
    same = cosines[:30, :30][~np.eye(30, dtype=bool)]
    other = cosines[:30, 30:]
    assert same.mean() > 0.3
    assert abs(other.mean()) < 0.2
    assert same.max() < 0.99


def test_a_text_has_one_vector_whatever_it_is_embedded_with() -> None:
    embedder = SyntheticEmbedder(provider="local", model="another", width=64)
    assert (embedder.provider, embedder.model, embedder.width) == ("local", "another", 64)
    alone = embedder.embed(["no topic at all"])
    beside = embedder.embed(["something else", "no topic at all"])
    assert np.array_equal(alone[0], beside[1])
    assert embedder.embed([]).shape == (0, 64)


def test_a_text_has_the_same_vector_in_another_process() -> None:
    code = (
        "from ricordo.bench.invented import SyntheticEmbedder\n"
        "print(SyntheticEmbedder(width=8).embed(['a text'])[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(SyntheticEmbedder(width=8).embed(["a text"])[0].tolist())

"""A synchronous grammar of English, German and French, and corpora drawn from it."""

from pipeline.corpora.grammar.corpus import generate_pairs, generate_trees
from pipeline.corpora.grammar.files import write_corpus

__all__ = ["generate_pairs", "generate_trees", "write_corpus"]

"""The inventory taken from lines is the one taken from trees."""

import pytest

from pipeline.corpora.linearise import linearise, symbol_inventory
from pipeline.corpora.symbols import file_inventory, line_symbols
from pipeline.corpora.trees import clean, parse_tree, read_trees, to_line
from pipeline.files import write_lines

TREES = [
    "(S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .))",
    "(TOP (: --))",
    "(NP (NP (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))",
    "(S (NP (NNP A\u00a0B)) (WHNP (WP$ whose)))",
]


@pytest.mark.parametrize("tags", ["keep", "drop"])
@pytest.mark.parametrize("lines", [TREES, TREES[1:2]])
def test_the_inventory_of_a_file(tmp_path, tags, lines):
    write_lines(tmp_path / "trees", lines)
    expected = symbol_inventory(map(parse_tree, lines), tags=tags)
    assert file_inventory(tmp_path / "trees", tags=tags) == expected
    for line in lines:
        symbols = line_symbols(line, tags=tags, known=set(expected))
        assert symbols == linearise(parse_tree(line), tags=tags)


@pytest.mark.parametrize("tags", ["keep", "drop"])
@pytest.mark.parametrize("name", ["gum/gum.dev.mrg", "craft/craft.dev.mrg"])
def test_the_inventory_of_a_treebank(shared_data, tmp_path, tags, name):
    trees = [clean(tree) for tree in read_trees(shared_data / "trees" / name)]
    write_lines(tmp_path / "trees", map(to_line, trees))
    assert file_inventory(tmp_path / "trees", tags=tags) == symbol_inventory(trees, tags=tags)

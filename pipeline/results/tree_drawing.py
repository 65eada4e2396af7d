"""A tree as a drawing (SVG): the sentence on one line, constituents above it by their height.

A constituent stands over the middle of its children, one row above the highest of them. Lines run
down and across only, each in the columns of its own constituent, so that none crosses a label.
"""

import re
import unicodedata
from dataclasses import dataclass
from xml.sax.saxutils import escape

from pipeline.corpora.trees import Tree, leaves

FONT_SIZE = 14
CHARACTER_WIDTH = 8.2  # of an average character at that size
CAPITAL_WIDTH = 10.2  # of a label's capitals, in bold
ROW_HEIGHT = 44
GAP = 14  # between columns
MARGIN = 18
CORNER = 5  # radius where a line turns
INK, GREY, LINE, FRAME, FILL = "#1a1a1a", "#5d6b7a", "#9aa7b4", "#3465a4", "#eef3fa"
NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class _Box:
    """A label or word in its place. row: 0 for words, 1 for tags, and up; x: its middle."""

    name: str
    kind: str
    children: list["_Box"]
    row: int
    width: float  # of the whole subtree
    x: float = 0.0

    @property
    def own_width(self) -> float:
        if self.kind == "constituent":
            return CAPITAL_WIDTH * len(self.name) + 12
        return text_width(self.name)


def tree_svg(tree: Tree) -> str:
    """One SVG document, without fonts or scripts of its own. The sentence is its title."""
    root = _boxes(tree)
    _place(root, MARGIN)
    boxes = _all(root)
    width = root.width + 2 * MARGIN
    height = (root.row + 1) * ROW_HEIGHT + 2 * MARGIN - ROW_HEIGHT / 2
    title = _xml(" ".join(leaves(tree)))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.1f} {height:.1f}" role="img" font-family="sans-serif" '
            f'font-size="{FONT_SIZE}" text-anchor="middle">',
            f"<title>{title}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            f'<g fill="none" stroke="{LINE}" stroke-width="1.3">',
            *(_lines(box, root.row) for box in boxes if box.children),
            "</g>",
            *(_label(box, root.row) for box in boxes),
            "</svg>",
            "",
        ]
    )


def text_width(text: str) -> float:
    """Estimated width in pixels: East Asian wide characters count twice, combining marks not."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return CHARACTER_WIDTH * (len(text) + wide - marks)


def _boxes(tree: Tree) -> _Box:
    """Boxes of the tree from the leaves up, their rows and widths known."""
    done: list[_Box] = []
    stack: list[tuple[Tree | str, bool]] = [(tree, False)]
    while stack:
        node, children_done = stack.pop()
        if isinstance(node, str):
            done.append(_Box(node, "word", [], 0, text_width(node)))
        elif not children_done:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
        else:
            children = done[len(done) - len(node.children) :]
            del done[len(done) - len(node.children) :]
            kind = "tag" if node.is_preterminal else "constituent"
            box = _Box(node.label, kind, children, 1 + max(child.row for child in children), 0.0)
            spread = sum(child.width for child in children) + GAP * (len(children) - 1)
            box.width = max(spread, box.own_width)
            done.append(box)
    return done[0]


def _place(root: _Box, left: float) -> None:
    """Set x of each box: children side by side, their parent over the middle of the outer two."""
    order: list[_Box] = []
    stack = [(root, left)]
    while stack:
        box, left = stack.pop()
        order.append(box)
        spread = sum(child.width for child in box.children) + GAP * (len(box.children) - 1)
        start = left + (box.width - spread) / 2
        box.x = left + box.width / 2
        for child in box.children:
            stack.append((child, start))
            start += child.width + GAP
    for box in reversed(order):
        if box.children:
            box.x = _within(box, (box.children[0].x + box.children[-1].x) / 2)


def _within(box: _Box, middle: float) -> float:
    """`middle`, moved as far as the label needs to stay in its own columns."""
    spare = (box.width - box.own_width) / 2
    return min(max(middle, box.x - spare), box.x + spare)


def _all(root: _Box) -> list[_Box]:
    boxes, stack = [], [root]
    while stack:
        box = stack.pop()
        boxes.append(box)
        stack.extend(reversed(box.children))
    return boxes


def _y(row: int, top_row: int) -> float:
    """Middle of a row."""
    return MARGIN + ROW_HEIGHT / 4 + (top_row - row) * ROW_HEIGHT


def _lines(box: _Box, top_row: int) -> str:
    """From under the label down to a bar between the rows, and from there to each child."""
    start = _y(box.row, top_row) + 11
    bar = start + 9
    commands = []
    for child in box.children:
        end = _y(child.row, top_row) - 12
        step = child.x - box.x
        if abs(step) < 2 * CORNER:
            commands.append(f"M{box.x:.1f} {start:.1f}V{bar:.1f}L{child.x:.1f} {bar + 4:.1f}")
        else:
            turn = CORNER if step > 0 else -CORNER
            commands.append(
                f"M{box.x:.1f} {start:.1f}V{bar:.1f}H{child.x - turn:.1f}q{turn} 0 {turn} {CORNER}"
            )
        commands.append(f"V{end:.1f}")
    return f'<path d="{"".join(commands)}"/>'


def _label(box: _Box, top_row: int) -> str:
    x, y = box.x, _y(box.row, top_row)
    frame = ""
    if box.kind == "word":
        style = f'fill="{INK}"'
    elif box.kind == "tag":
        style = f'fill="{GREY}" font-size="12"'
    else:
        style = f'fill="{FRAME}" font-weight="bold" font-size="13"'
        frame = (
            f'<rect x="{x - box.own_width / 2:.1f}" y="{y - 11:.1f}" width="{box.own_width:.1f}" '
            f'height="22" rx="6" fill="{FILL}" stroke="{FRAME}"/>'
        )
    return f'{frame}<text x="{x:.1f}" y="{y + 5:.1f}" {style}>{_xml(box.name)}</text>'


def _xml(text: str) -> str:
    """Escaped; characters that XML cannot hold become U+FFFD."""
    return escape(NO_XML.sub("\ufffd", text))

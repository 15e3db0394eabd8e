"""Formulas as MathML: browsers show them without scripts, fonts or anything from other servers."""

from __future__ import annotations

import html

from docutils import nodes
from docutils.utils.math import latex2mathml


def markup(node: nodes.math | nodes.math_block, *, is_block: bool) -> str:
    """Return the MathML of a formula, with its LaTeX as the text alternative."""
    source = node.astext()
    try:
        tree = latex2mathml.tex2mathml(source, as_block=is_block)
    except latex2mathml.MathError as error:
        raise ValueError(f"{node.source}, line {node.line}: {source}: {error}") from error
    return tree.replace("<math", f'<math alttext="{html.escape(source)}"', 1)


def visit_inline(translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(markup(node, is_block=False))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="math">{markup(node, is_block=True)}</div>')
    raise nodes.SkipNode


def setup(app) -> None:
    """Register the renderer under the name that html_math_renderer has in conf.py."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))

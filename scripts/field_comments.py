"""For the site's API page: what stands behind `#:` beside a field is its docstring."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Docstring, Extension


class FieldComments(Extension):
    """Read by mkdocstrings, see mkdocs.yml."""

    def on_attribute(self, *, attr: Attribute, **_: Any) -> None:
        """Of the module or class that griffe has just read."""
        comments = [line.partition("#:")[2].strip() for line in attr.lines if "#:" in line]
        if attr.docstring is None and comments:
            attr.docstring = Docstring(" ".join(comments), parent=attr, lineno=attr.lineno)

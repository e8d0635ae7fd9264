"""Migrations at half their cost, for tests.

A migration spends nearly all its time on Django's models of the state before and after each step.
With `--all` Django's own method is used, and `tests/test_databases.py` compares the results of both
methods.
"""

from __future__ import annotations

import copy
import functools
import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from django.db.migrations.state import ModelState, ProjectState
from django.db.models import Field
from django.utils.functional import cached_property

from tests.extent import Extent

# The last migrations of version 0.5.0, which each new database passes.
VERSION_0_5_0 = [
    ("audit", "0001_initial"),
    ("datasets", "0003_tokens"),
    ("annotation", "0010_words_of_items"),
    ("judging", "0003_reviews"),
    ("analysis", "0001_frozen_reports"),
]


@contextmanager
def quickly() -> Iterator[None]:
    """Speed up migrations within the block; with `--all` only a little."""
    with ExitStack() as stack:
        stack.enter_context(_no_search_for_garbage())
        if not Extent.everything:
            stack.enter_context(patch.object(ModelState, "render", _render))
            stack.enter_context(patch.object(ProjectState, "reload_model", _reload))
        yield


@contextmanager
def _no_search_for_garbage() -> Iterator[None]:
    """Disable garbage collection within the block.

    Each step replaces most models, and collecting the old ones is slow.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


_rendered, _reloaded = ModelState.render, ProjectState.reload_model


def _render(state: ModelState, apps: Any) -> Any:
    """A clone of the model with copied fields, since Django's clone deconstructs each field."""
    with_copies: Any = state.clone()
    with_copies.fields = {name: _Copied(field) for name, field in state.fields.items()}
    return _rendered(with_copies, apps)


class _Copied:
    """A field whose clone is a copy."""

    def __init__(self, field: Field[Any, Any]) -> None:
        self.field = field

    def clone(self) -> Any:
        new: Any = copy.deepcopy(self.field)
        _forget(new)
        if new.remote_field:
            _forget(new.remote_field)
        new.creation_counter = Field.creation_counter  # which determines the order of columns
        Field.creation_counter += 1
        return new


def _forget(of: Any) -> None:
    """Remove values cached before the field belonged to a model."""
    kind: Any = type(of)
    for name in _computed(kind) & of.__dict__.keys():
        del of.__dict__[name]


@functools.cache
def _computed(kind: Any) -> frozenset[str]:
    return frozenset(
        name
        for each in kind.__mro__
        for name, value in vars(each).items()
        if isinstance(value, cached_property)
    )


def _reload(state: ProjectState, app_label: str, model_name: str, delay: bool = False) -> None:
    """After a new relation, reload only its neighbours instead of all models that they lead to.

    Python code in a migration, which needs all models, has them created then.
    """
    _reloaded(state, app_label, model_name, delay=True)

"""Orders: the actions of the buttons in a page's forms, named by the field `order`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest, HttpResponse

from datasets.text import as_sentence, number_in

Subject = TypeVar("Subject")


class FormError(Exception):
    """An invalid form."""

    def __init__(self, form: forms.Form) -> None:
        self.form = form
        super().__init__(str(form.errors))


def carry_out(
    acts: Mapping[str, Callable[[Subject, HttpRequest], object]],
    subject: Subject,
    request: HttpRequest,
    page: Callable[..., HttpResponse],
    refused: type[Exception],
) -> HttpResponse | None:
    """Carry out the request's order; return the page to show, or None.

    An unknown order does nothing. An act may return the page; anything else it returns is ignored.
    If the form is invalid, or the act raises `refused`, return the `page` that says why.
    """
    order = request.POST.get("order", "")
    act = acts.get(order)
    if act is None:
        return None
    try:
        done = act(subject, request)
    except FormError as error:
        return page(request, subject, {order: error.form}, status=422)
    except refused as error:
        return page(request, subject, wrong=as_sentence(error), status=409)
    return done if isinstance(done, HttpResponse) else None


def clean(form: forms.Form) -> dict[str, Any]:
    """Return the data of a form. Raises FormError if it is invalid."""
    if not form.is_valid():
        raise FormError(form)
    return form.cleaned_data


def posted_number(request: HttpRequest, name: str) -> int:
    """Return the number of a row that a form names, or 0 if it names none."""
    return number_in(request.POST.get(name, ""))

"""The page of key-point recall: a report, its key points, and the kinds of failure.

It also serves points of answers, which precede the passages of their context.
"""

from __future__ import annotations

from annotation.views.protocol_pages.base import Page

PAGE = Page(
    template="work/pages/key_point_recall.html",
    script="js/work/key_point_recall.js",
    style="css/work/key_point_recall.css",
    keys=(("n", "go to the next unanswered point"),),
)

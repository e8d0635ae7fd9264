"""What needs attention in a campaign: one registry for all pages.

`base` reads the input of the rules, for many campaigns in a few queries. Expensive figures come
from the last finished jobs: the report, and the `checks` of disputes and people's work. A rule of
`rules` turns facts into findings, and `registry` lists the rules, with who may see what they find.
Cockpit, progress, results, the list of campaigns, the API and `tandem campaign show` ask `matters`.
"""

from analysis.attention.base import Action, Facts, Matter, facts_of
from analysis.attention.registry import RULES, matters, matters_for, note_look

__all__ = ["RULES", "Action", "Facts", "Matter", "facts_of", "matters", "matters_for", "note_look"]

"""Words around a verdict that deny, withdraw or qualify it, in the languages that judges write.

The lists err on one side: a word too many makes a label missing, a word too few makes it wrong.
"""

from __future__ import annotations

import re


def _any(*lists: str, also: str = "") -> re.Pattern[str]:
    """Compile a pattern of whole words, given as patterns apart by blanks; `_` is a blank."""
    words = [word.replace("_", r"\s+") for words in lists for word in words.split()]
    whole = rf"(?<!\w)(?:{'|'.join(words)})(?!\w)"
    return re.compile(f"{whole}|{also}" if also else whole, re.IGNORECASE)


NEGATIONS = _any(
    "no not none never neither nor nothing nobody nowhere cannot non",
    "nicht kein\\w* nie niemals weder pas jamais aucune? ni nunca ninguna? não nem mai",
    "nope nah niet geen inte ikke nein nee не нет",
    also=r"n['’]t(?!\w)|不|没|沒|無|无|未|非|ない|ません|않|아니",
)

NEGATED_CLAIM = _any(
    r"not?_(?:quite|exactly|entirely|really|necessarily|so|true|right|correct|sure|certain|just)",
    r"not?_(?:only|merely|fully|completely|wait|even|at_all) no\s*,_?(?:it|they|that)",
    also=r"n['’]t\s+(?:quite|exactly|really|so|true|right|correct|sure|certain)(?!\w)|"
    r"(?:\A|[.!?\n])[^\w.!?\n]*(?:no|nein|non|nee|nej|нет|不)\s*(?:[.!\n]|\Z)",
)
"""Negations of what was just said, even after a verdict that is itself negative."""

NEGATING = _any(
    r"no not none never neither nor nothing cannot un\w+ contra\w+ missing irrelevant false absent",
    r"lacks? fails? part(?:ial(?:ly)?|ly)?",
    also=r"n['’]t(?!\w)",
)
"""Words that make a verdict, its code or an option's own text a negative one."""

EXPLICIT = _any(
    r"wait correct(?:ion|ing) revised on_second_thoughts? hold_on hmm+ oops whoops scratch_that",
    r"i_meant i_(?:now_)?(?:change|revise|withdraw|retract) re-?consider\w* my_mistake",
    r"let_me_(?:re|correct|change|fix)\w* final_(?:answer|verdict|score|rating)",
    r"(?:answer|verdict|score|rating)_should should_(?:read|be|say|have_been) misread",
    "warte korrektur espera corrección attendez correzione",
    also="更正|等等|訂正|いや",
)
"""Withdrawals that leave no doubt even within a reason, for a verdict that is given first."""

WITHDRAWALS = _any(
    r"wait however revis\w+ actually correct(?:ion|ing) instead rather re-?consider\w* hold_on",
    r"re-?evaluat\w+ re-?assess\w* re-?read\w* re-?think\w* on_second_thoughts? hmm* oops whoops",
    r"scratch sorry apolog\w+ mistak\w+ wrong incorrect\w* error erroneous\w* chang(?:e|es|ed|ing)",
    r"updat(?:e|ed|ing) withdraw\w* retract\w* disregard ignore overrid\w+ adjust\w* amend\w*",
    r"strike undo should_(?:be|have_been) would_(?:be|have_been) ought_to_be could_be might_be",
    r"may_be meant alternatively (?<!says\s)(?<!say\s)otherwise unless at_first initially draft",
    r"provisional\w* tentative\w* nope nah after_all on_reflection (?:just_)?kidding typo",
    r"scrap take_(?:it|this|that)_back",
    r"too_(?:\w+_)?(?:low|high|harsh|strict|severe|lenient|generous|kind)",
    "moment doch warte korrektur eigentlich vielmehr stattdessen allerdings falsch",
    "attendez plutôt en_fait cependant finalement espera más_bien en_realidad corrección",
    "sin_embargo na_verdade aspetta anzi in_realtà correzione",
    also="等等|更正|其实|其實|但是|不过|应该是|應該是|改为|訂正|いや|むしろ|しかし|実は|подожд|однако|точнее|"
    "исправл|잠깐|정정|그러나",
)

LACKING = _any(
    r"lacks? lacking missing absent insufficient(?:ly)? inadequate(?:ly)? unavailable incomplete",
    r"limited fails? failed weak(?:ly)? poor(?:ly)? questionable doubtful",
)
"""Words that deny a verdict that is not itself negative: *support is lacking*."""

PREDICATE = re.compile(
    r"[\"'”’»)\]}]*[ \t]*(?:[-–—→←]+[ \t]*(?:this|that|it)[ \t]+)?"
    r"(?:(?:is|was|seems|looks|appears|feels|would|could|might|may|does|did|fails|loses|lost|lacks)\b"
    r"(?!\s+(?:(?:clearly|definitely|therefore|thus)\s+)?(?:(?:the|my|our)\s+)?"
    r"(?:\w+ly\s+)?(?:correct|right|best|better|final|answer|verdict|winner|appropriate|most|score|"
    r"rating|grade|choice|option|given|warranted|justified|supported))|"
    r"(?:\w+n['’]t|cannot)\b|\d+\s*%)",
    re.IGNORECASE,
)
"""What makes a verdict the subject of a sentence about it: *[[A]] loses*."""

NUMERALS = re.compile(
    r"(?<!\w)(?<!of )(?<!the )(?<!all )(?<!and )(?:zero|one|two|three|four|five|six|seven|"
    r"eight|nine|ten)(?=\s*(?:[.,;!)]|$|(?:is|was|would|instead|rather)\b))",
    re.IGNORECASE | re.MULTILINE,
)
"""Numbers in words that count nothing, which may be another verdict: *I should have said three*."""

HEDGES = _any(
    r"but or only almost nearly barely hardly scarcely part(?:ly|ially) in_parts? mostly largely",
    r"somewhat maybe perhaps possibly probably potentially arguabl[ey] unsure uncertain unclear",
    r"though although except\w* half minus plus ish at_(?:most|least|best) borderline leaning",
    r"(?:more|less)_than (?:low|high)er if when whether depend\w*",
    "aber oder nur fast teilweise vielleicht bis mais ou presque peut-être pero o casi quizás ma",
    "forse quasi",
    also=r"\?|？|也许|可能|或",
)
"""Words that qualify a verdict if they follow in the same sentence."""

_SAY = r"(?: (?:say|call (?:it|this|that)|give(?: it)?|choose|pick|use|go with))?"
DENIALS = re.compile(
    rf"(?:(?<!\w)(?:(?:not|never){_SAY}|neither|rather than|instead of|nicht|pas|other than|"
    rf"(?:would|could|might|should)(?: have)? be(?:en)?)|n['’]t{_SAY})\s*[:\"'“‘(]*\s*\Z",
    re.IGNORECASE,
)
"""What stands before a statement and makes it none: *not [[B]]*, *it would be [[good]]*."""

QUALIFIERS = _any(
    r"about around approx\w* roughly circa nearly almost at_(?:least|most) up_to over under above",
    r"below between either (?:more|less|greater|lower|higher)_than",
    "mindestens höchstens etwa entre zwischen",
)
"""Words that make the number after them no code."""

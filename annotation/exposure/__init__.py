"""Exposure: what each account could see of others' answers, and the answers that came after it.

Functions that return others' answers, or figures of them, note it in the `ledger`, so that no page
has to remember it; what a request noted is recorded once it is answered. When a person answers,
`detection` looks up whether an earlier look showed others' answers to the same units, here or in
another campaign that shows the same texts, and the answer is stored with that mark. It also reads
the marks for statistics, exports and pages, and `annotation.integrity.exposure` derives them again
from the ledger.

What an item itself shows by its protocol and design (a first answer in a second round, a judge's
label to validate, the gold answers after practice, a person's own nuggets) is not a look: the
functions that read it note nothing.
"""

"""The pages of annotation, one module for each noun.

`work`, `items` and `answers` serve a person's work: the list, the item page, and what that page
sends. `campaigns`, `progress`, `people`, `exports` and `audit` are the pages of researchers and
admins, `adjudication` those of adjudicators, `accounts` log-in and API tokens. `forms` has the
forms, and `protocol_pages` what each protocol adds to the item page. A view checks access, calls
the package that does the work, and renders a template.
"""

"""The pages of annotation, one module for each noun.

`work`, `items` and `answers` serve a person's work: the list, the item page, and what that page
sends. `campaigns`, `progress`, `people`, `campaign_people`, `exports` and `audit` are the pages of
researchers and admins, `adjudication` those of adjudicators, `accounts` log-in and API tokens.
`campaign_forms` and `people_forms` have the forms, `orders` the dispatch of forms with several
buttons, and `protocol_pages` what each protocol adds to the item page. A view checks access, calls
the package that does the work, and renders a template.
"""

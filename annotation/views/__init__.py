"""The pages of annotation, one module for each noun.

`work`, `items` and `answers` serve a person's work: the list, the item page, and what that page
sends. `new_campaign`, `campaign_settings`, `campaign_people`, `progress`, `people`, `exports` and
`audit` are the pages of researchers and admins (`analysis.cockpit` has the list of campaigns),
`adjudication` those of adjudicators, `accounts` log-in and API tokens. `new_campaign_forms` and
`settings_forms` have forms, `orders` the dispatch of forms with several buttons, and
`protocol_pages` what each protocol adds to the item page. A view checks access, calls the package
that does the work, and renders a template.
"""

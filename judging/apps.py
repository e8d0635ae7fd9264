"""App configuration: registers judges' costs and names for dry runs of designs."""

from __future__ import annotations

from django.apps import AppConfig


class Judging(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from annotation.campaign_setup.dry_run import JUDGE_COSTS
        from annotation.people.membership import JUDGE_READERS
        from judging import sealed  # noqa: F401 - importing it registers its declarations
        from judging.access import judge_of_a_team
        from judging.estimate import design_costs

        JUDGE_COSTS.append(design_costs)
        JUDGE_READERS.append(judge_of_a_team)

"""App configuration: what judges would cost over a design is added to its dry run."""

from __future__ import annotations

from django.apps import AppConfig


class Judging(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from annotation.campaign_setup.effort import JUDGE_COSTS
        from judging.estimate import design_costs

        JUDGE_COSTS.append(design_costs)

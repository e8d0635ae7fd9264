"""What a notebook does with a site: `Client`, over the site's API.

`transport` sends requests so that a repetition doubles nothing, `progress` shows what the site is
doing, `connection` waits for jobs and saves files, `resources` are a site's objects, and `site` is
the client. It needs no package besides those of the library.
"""

from __future__ import annotations

from .progress import Progress as Progress
from .resources import Batch as Batch
from .resources import Campaign as Campaign
from .resources import Invitation as Invitation
from .resources import Judge as Judge
from .resources import Run as Run
from .resources import Snapshot as Snapshot
from .site import Client as Client
from .transport import SiteError as SiteError

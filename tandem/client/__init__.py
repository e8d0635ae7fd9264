"""What a notebook does with a site: `Client`, over the site's API.

`transport` sends requests so that a repetition doubles nothing, shows what the site is doing, waits
for jobs and saves files. `site` has a site's objects and the client. It needs no package besides
those of the library.
"""

from __future__ import annotations

from .site import Batch as Batch
from .site import Campaign as Campaign
from .site import Client as Client
from .site import Invitation as Invitation
from .site import Judge as Judge
from .site import Run as Run
from .site import Snapshot as Snapshot
from .transport import Progress as Progress
from .transport import SiteError as SiteError

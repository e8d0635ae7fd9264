"""The web server's front: an event loop serves slow clients, and threads get whole requests only.

`config.front.worker.Worker` is a worker class of gunicorn. Its loop reads requests and writes
responses of all connections. A thread gets a request once it has arrived, and is free again once
its response is computed. `thread_pools` says which threads answer which request.
"""

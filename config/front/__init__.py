"""The web server's front: slow clients wait in a loop, and threads only for whole requests.

`config.front.worker.Worker` is a worker class of gunicorn. Its loop reads requests and writes
responses of all connections. A thread gets a request once it has arrived, and is free again once
its response is computed. `lanes` says which threads answer which request.
"""

# Targets: `runtime` (the default) is the site, its worker and its beat; `vllm` is a judge server for
# hosts with an NVIDIA GPU, and holds nothing of Tandem.
# `make images` takes the images that these tags have now.
ARG PYTHON_IMAGE=python:3.11-slim-trixie@sha256:9534e5a8e315485d4061ed659af0fd78a284c015f9b73661b41d6bab25604534
ARG VLLM_PYTHON_IMAGE=python:3.12-slim-bookworm@sha256:0f5b26b9518d002b6173fd61daad821fa340635ebfec5bba471013f9ca114579

FROM ${PYTHON_IMAGE} AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
# Before the source: a change of the source alone installs nothing anew.
COPY requirements.lock ./
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock
ENV PATH=/opt/venv/bin:$PATH
COPY . .
# The settings refuse to start without a key; this one is thrown away with the step. What Python
# compiles meanwhile would be for root alone.
RUN PYTHONDONTWRITEBYTECODE=1 SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(64))')" \
    ALLOWED_HOSTS=localhost TANDEM_DATA_DIR=/tmp/collect TANDEM_STATIC_DIR=/app/staticfiles \
    python manage.py collectstatic --noinput --verbosity 0 \
    && python -m compileall -q .

FROM ${VLLM_PYTHON_IMAGE} AS vllm
LABEL org.opencontainers.image.title="Tandem's judge server" \
      org.opencontainers.image.description="vLLM, for LLM judges on a GPU host" \
      org.opencontainers.image.licenses="Apache-2.0"
# Triton compiles its launchers when a model is loaded, so here the compiler is needed at run time.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 judge \
    && useradd --uid 10001 --gid judge --no-create-home --home-dir /tmp judge \
    && install -d -o judge -g judge /models /srv/judge
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements-vllm.lock /tmp/
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --require-hashes -r /tmp/requirements-vllm.lock
# The base image is not NVIDIA's, so the container toolkit must be told what to mount. FlashInfer's
# sampler would be compiled by nvcc at the first request, which is not here; vLLM's own is complete.
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    HF_HOME=/models \
    VLLM_CACHE_ROOT=/models/vllm \
    TRITON_CACHE_DIR=/models/triton \
    VLLM_USE_FLASHINFER_SAMPLER=0 \
    VLLM_NO_USAGE_STATS=1 \
    DO_NOT_TRACK=1
# Nothing importable lies here. Our package `datasets` would hide the library of that name.
WORKDIR /srv/judge
USER 10001:10001
VOLUME /models
EXPOSE 8000
STOPSIGNAL SIGTERM
# Weights are fetched and loaded before the first answer.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30m --retries=4 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["vllm", "serve"]
CMD ["--help"]

FROM ${PYTHON_IMAGE} AS runtime
LABEL org.opencontainers.image.title="Tandem" \
      org.opencontainers.image.description="People and LLM judges label the same items, side by side" \
      org.opencontainers.image.licenses="Apache-2.0"
# `tandem backup` needs a pg_dump that is not older than compose.yaml's server; this release has 17.
# A fixed id, so that a volume's files keep their owner from one image to the next.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 tandem \
    && useradd --uid 10001 --gid tandem --no-create-home --home-dir /tmp tandem \
    && install -d -m 0700 -o tandem -g tandem /data
# Root owns what is copied: the process can read its code and cannot change it.
COPY --from=builder /opt/venv /opt/venv
COPY --from=builder /app /app
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TANDEM_DATA_DIR=/data \
    TANDEM_STATIC_DIR=/app/staticfiles \
    BIND=0.0.0.0:8000
WORKDIR /app
USER 10001:10001
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['BIND'].rpartition(':')[2] + '/health/ready', timeout=4)"]
CMD ["gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]

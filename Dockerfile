# The build stage makes /opt/venv from the hashed lock; the image that runs gets no pip at all.
FROM python:3.13-slim AS build

WORKDIR /src
RUN python -m venv /opt/build && python -m venv --without-pip /opt/venv
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

COPY requirements.lock requirements-build.lock ./
RUN /opt/build/bin/pip install --require-hashes -r requirements-build.lock \
 && /opt/build/bin/pip --python /opt/venv/bin/python install \
    --no-compile --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY dlqwatch dlqwatch
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
 && /opt/build/bin/pip --python /opt/venv/bin/python install \
    --no-compile --no-deps --no-index /tmp/wheel/*.whl \
 && /opt/venv/bin/python -m compileall -q -o 2 --invalidation-mode unchecked-hash /opt/venv


FROM python:3.13-slim

LABEL org.opencontainers.image.title="dlqwatch" \
      org.opencontainers.image.description="Watches a Cloudflare Queues dead-letter queue: no dead letter dies unseen." \
      org.opencontainers.image.licenses="MIT"

# The base brings its standard library without bytecode, and this user can't write any: without
# the compileall each start, and each health check, would compile what it imports.
RUN useradd --no-log-init --uid 10001 --user-group --home-dir /data --no-create-home dlqwatch \
 && install -d -o 10001 -g 10001 -m 0750 /data \
 && lib="$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
 && rm -rf "$lib/ensurepip" "$lib"/site-packages/pip* /usr/local/bin/pip* /usr/share/python-wheels \
 && python -m compileall -q -o 2 --invalidation-mode unchecked-hash \
    -x '/(test|tests|idlelib|tkinter|turtledemo|lib2to3|site-packages)/' "$lib"

COPY --from=build /opt/venv /opt/venv

# Level 2 is what the bytecode above was made for. Nothing in dlqwatch needs assert or docstrings.
# The last two: glibc gives freed memory back instead of keeping it for each thread (2.5 MiB).
ENV PATH="/opt/venv/bin:$PATH" \
    PYTHONOPTIMIZE=2 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MALLOC_ARENA_MAX=1 \
    MALLOC_TRIM_THRESHOLD_=65536

USER 10001:10001
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
# `health` reads one small file; it turns bad when no tick has finished within its limit.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=2 CMD ["dlqwatch", "health"]
ENTRYPOINT ["dlqwatch"]
CMD ["run"]

# The scoring service (docs/serve.md): offline at run time, and not as root.
#   docker build -t q2-metric . && docker run -p 127.0.0.1:8765:8765 -e Q2_API_KEY=... q2-metric
FROM python:3.12-slim AS build
WORKDIR /source
COPY setup.cfg pyproject.toml README.md LICENSE ./
COPY q2_metric q2_metric
COPY parlai_plugin parlai_plugin
COPY parlai_internal parlai_internal
RUN python -m venv /q2 && /q2/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.12-slim
COPY --from=build /q2 /q2
RUN useradd --no-create-home --uid 10001 q2
USER q2
ENV PATH=/q2/bin:$PATH HF_HUB_OFFLINE=1 Q2_NO_CACHE=1 Q2_NO_REGISTER=1 PYTHONDONTWRITEBYTECODE=1
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
  "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/v1/health', timeout=4)"]
ENTRYPOINT ["q2", "serve", "--api", "--host", "0.0.0.0"]

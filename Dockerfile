# One image for every daemon; which one it is says the command (docker-compose.yml). Nothing runs as root.
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
# With commas between, such as kubernetes,remote-logs.
ARG EXTRAS=celery
RUN useradd --uid 50000 --create-home --home-dir /srv/treadle treadle \
    && install --directory --owner=treadle /srv/treadle/dags /srv/treadle/logs
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/treadle-*.whl)[${EXTRAS}]" && rm -r /wheels
ENV TREADLE_HOME=/srv/treadle PYTHONUNBUFFERED=1
WORKDIR /srv/treadle
USER 50000
EXPOSE 8080
ENTRYPOINT ["treadle"]

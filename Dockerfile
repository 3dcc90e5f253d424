# syntax=docker/dockerfile:1
# One image per component: docker build --target probe -t isochrone-probe:0.1.0 . (also collector,
# network-manager, dispatcher, aggregator, scheduler-plugin, cli). What is in them is decided by
# tools/src/build-image-layout.ts, which runs without an engine too.
#
# Reproducible as far as the base is: name it with its digest (NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:…;
# `docker buildx imagetools inspect` says it), and pass SOURCE_DATE_EPOCH, as `docker buildx build --build-arg
# SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) --output type=image,rewrite-timestamp=true`.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS sources
WORKDIR /src
# Packages run no scripts: nothing is compiled by them, nothing else downloaded.
COPY . .
RUN npm ci --ignore-scripts --no-audit --no-fund
# yes: probe and cli have net-ping, the last fallback for ICMP (probe.icmpProber=net_ping). Only for that is
# something compiled, here and in no image.
ARG NET_PING=no
RUN if [ "$NET_PING" = yes ]; then \
      apt-get update -qq && apt-get install -y -qq --no-install-recommends g++ make python3 && npm run build:net-ping; \
    fi
# The web page's build, which the aggregator's image carries in place of its sources.
RUN node --input-type=module -e 'import { createPage } from "@isochrone/dashboard"; const { missing } = createPage(); if (missing) throw new Error(missing)'

FROM sources AS layout
# platformatic (brokers of 4.0 and later), or kafkajs for images whose tag ends in -kafkajs.
ARG KAFKA_CLIENT=platformatic
ARG NET_PING=no
ARG SOURCE_DATE_EPOCH=0
ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH}
RUN for component in probe collector network-manager dispatcher aggregator scheduler-plugin cli; do \
      node --disable-warning=ExperimentalWarning tools/src/build-image-layout.ts \
        --component "$component" --output "/layout/$component" --kafka-client "$KAFKA_CLIENT" --net-ping "$NET_PING" || exit 1; \
    done

FROM ${NODE_IMAGE} AS base
# What a server never needs, and a stranger in it would like to have.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn*
ENV NODE_ENV=production
WORKDIR /app
# Of nobody, and not by name: Kubernetes can tell a number from root.
USER 65532:65532

FROM base AS probe
COPY --from=layout /layout/probe /app
# Heaps of glibc's own for each thread give nothing back. V8's threads for its collections cost more time than
# they save of so small a heap.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
EXPOSE 7411/udp 7411/tcp 7412/tcp 7413/udp 7413/tcp
ENTRYPOINT ["node", "--single-threaded-gc", "/app/probe/src/main.js"]

FROM base AS collector
COPY --from=layout /layout/collector /app
# As for the probe: 7 MB less.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
EXPOSE 9102/tcp
ENTRYPOINT ["node", "/app/collector/src/main.js"]

# Its tools change the kernel, so they come with it: the base has none of them. What a container may do with
# them is the pod's to say.
FROM base AS network-manager
USER 0:0
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends iproute2 nftables && rm -rf /var/lib/apt/lists/*
COPY --from=layout /layout/network-manager /app
EXPOSE 7414/tcp
ENTRYPOINT ["node", "/app/network-manager/src/main.js"]

FROM base AS dispatcher
COPY --from=layout /layout/dispatcher /app
EXPOSE 7416/tcp 7417/tcp
ENTRYPOINT ["node", "/app/dispatcher/src/main.js"]

FROM base AS aggregator
COPY --from=layout /layout/aggregator /app
EXPOSE 8080/tcp
ENTRYPOINT ["node", "/app/aggregator/src/main.js"]

FROM base AS scheduler-plugin
COPY --from=layout /layout/scheduler-plugin /app
EXPOSE 8081/tcp 8443/tcp
ENTRYPOINT ["node", "/app/scheduler-plugin/src/main.js"]

FROM base AS cli
COPY --from=layout /layout/cli /app
ENTRYPOINT ["node", "/app/cli/src/main.js"]

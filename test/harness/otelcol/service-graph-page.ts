// Prints the page of a real Collector's service graph connector, as evidence for tests. Run: node
// tools/node24.mjs test/harness/otelcol/service-graph-page.ts > test/data/pages/NAME.prom
import { setTimeout as sleep } from "node:timers/promises";
import { COLLECTOR_VERSION, SERVICE_GRAPH_VERSION, startCollector } from "./index.ts";
import { HTTP, KIND, sendSpans, type Call, type Services } from "./spans.ts";

const CONFIG = `receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:\${env:OTLP_PORT}
connectors:
  servicegraph:
    store:
      ttl: 2s
      max_items: 1000
    dimensions: [k8s.namespace.name, k8s.deployment.name]
    latency_histogram_buckets: [10ms, 100ms, 1s]
    metrics_flush_interval: 1s
    store_expiration_loop: 500ms
exporters:
  prometheus:
    endpoint: 127.0.0.1:\${env:PROMETHEUS_PORT}
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [servicegraph]
    metrics:
      receivers: [servicegraph]
      exporters: [prometheus]
`;

const inShop = (deployment: string): Services[string] => ({
  "k8s.namespace.name": "shop",
  "k8s.deployment.name": deployment,
});

const SERVICES: Services = {
  frontend: inShop("frontend"),
  cart: inShop("cart"),
  "catalogue-service": inShop("catalogue"),
  orders: inShop("orders"),
  shipping: inShop("shipping"),
};

const CALLS: readonly Call[] = [
  { from: "frontend", to: "cart", count: 40, failed: 4, milliseconds: 12, kinds: HTTP },
  { from: "frontend", to: "catalogue-service", count: 25, failed: 0, milliseconds: 5, kinds: HTTP },
  { from: "frontend", to: "legacy", count: 3, failed: 0, milliseconds: 80, kinds: HTTP },
  {
    from: "cart",
    to: "redis",
    count: 30,
    failed: 0,
    milliseconds: 1,
    kinds: HTTP,
    attributes: { "db.system": "redis", "db.name": "carts" },
    seen: "client",
  },
  {
    from: "cart",
    to: "payments",
    count: 7,
    failed: 1,
    milliseconds: 150,
    kinds: HTTP,
    attributes: { "peer.service": "payments.bank" },
    seen: "client",
  },
  {
    from: "orders",
    to: "shipping",
    count: 9,
    failed: 0,
    milliseconds: 30,
    kinds: [KIND.producer, KIND.consumer],
  },
  { from: "nobody", to: "frontend", count: 11, failed: 0, milliseconds: 20, kinds: HTTP, seen: "server" },
];

const collector = await startCollector({ config: CONFIG, ports: ["OTLP_PORT", "PROMETHEUS_PORT"] });
try {
  const { OTLP_PORT, PROMETHEUS_PORT } = collector.ports;
  const spans = await sendSpans(`http://127.0.0.1:${OTLP_PORT}`, CALLS, SERVICES);
  // The connector reports unpaired spans after the store's ttl.
  await sleep(6_000);
  const page = await fetch(`http://127.0.0.1:${PROMETHEUS_PORT}/metrics`);
  const comment = [
    `Page of an OpenTelemetry Collector ${COLLECTOR_VERSION}: prometheus exporter behind servicegraph connector ${SERVICE_GRAPH_VERSION},`,
    `of ${spans} spans sent to its otlp receiver (HTTP). Made by`,
    "  node tools/node24.mjs test/harness/otelcol/service-graph-page.ts",
    "with this configuration of the Collector:",
    ...CONFIG.trimEnd()
      .split("\n")
      .map((line) => `  ${line}`),
  ];
  process.stdout.write(`${comment.map((line) => `# ${line}\n`).join("")}${await page.text()}`);
} finally {
  await collector.close();
}

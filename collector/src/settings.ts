import { bytes, duration, integer, list, section, text, type SettingsOf } from "@isochrone/runtime";

/** Everything the collector can be told. */
export const collectorSettings = section(
  "collector",
  {
    node: text({
      default: "",
      description: "Name of the node whose pages are scraped; a DaemonSet passes spec.nodeName.",
    }),
    intervalMs: duration({ default: 10_000, min: 100, description: "How often every page is scraped." }),
    timeoutMs: duration({
      default: 5_000,
      min: 10,
      description: "How long a page may take from the first byte sent to the last received.",
    }),
    maxPageBytes: bytes({
      default: 16 * 1024 * 1024,
      min: 1024,
      description: "A larger page (after decompression) is refused.",
    }),
    maxSamplesPerPage: integer({
      default: 50_000,
      min: 1,
      description: "A page with more wanted samples is refused.",
    }),
    concurrency: integer({ default: 8, min: 1, max: 256, description: "Pages scraped at the same time." }),
    staticTargets: list({
      default: [],
      description: "Pages to scrape beside the discovered ones, each as kind=url; kind is cadvisor or istio.",
    }),
    aggregatorUrl: text({
      default: "http://127.0.0.1:8080",
      description: "Where records are posted (OTLP/HTTP).",
    }),
    bufferBytes: bytes({
      default: 8 * 1024 * 1024,
      min: 65_536,
      description: "What is kept while the bus is away; the oldest is dropped, and counted, beyond that.",
    }),
    host: text({
      default: "0.0.0.0",
      description: "Address of the collector's own /metrics, /healthz and /readyz.",
    }),
    port: integer({ default: 9102, min: 0, max: 65_535, description: "Port of the collector's own pages." }),
  },
  {
    rules: [
      ({ timeoutMs, intervalMs }) =>
        timeoutMs < intervalMs
          ? null
          : `collector.timeoutMs must be below collector.intervalMs (${intervalMs}), got ${timeoutMs}`,
    ],
  },
);

export type CollectorConfig = SettingsOf<typeof collectorSettings>;

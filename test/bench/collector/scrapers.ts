// The compared programs as processes: our collector as shipped, and the OpenTelemetry Collector.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectorBinary } from "../../harness/otelcol/index.ts";
import { TUNED, tunedEnvironment } from "../../harness/components/tuned.ts";

const TICKS_PER_SECOND = 100;
const UTIME = 13;

export interface ScraperOptions {
  readonly url: string;
  readonly targets: number;
  readonly kind: "cadvisor" | "istio";
  readonly intervalMs: number;
  /** False: keeps all rows, labels and buckets of the families. */
  readonly reduce: boolean;
}

export interface Scraper {
  cpuMs(): number;
  close(): Promise<void>;
}

/** The allow-list. The last family gives process start times. */
const FAMILIES = [
  "container_cpu_usage_seconds_total",
  "container_memory_working_set_bytes",
  "container_network_receive_bytes_total",
  "container_network_transmit_bytes_total",
  "machine_cpu_cores",
  "machine_memory_bytes",
  "istio_requests_total",
  "istio_request_bytes",
  "istio_response_bytes",
  "istio_request_duration_milliseconds_bucket",
  "istio_tcp_sent_bytes_total",
  "istio_tcp_received_bytes_total",
  "process_start_time_seconds",
];

export function allowedNames(reduce: boolean): string {
  const parts = reduce ? "_(sum|count)" : "_(sum|count|bucket)";
  return FAMILIES.map((family) =>
    family.endsWith("_bytes") && family.startsWith("istio") ? `${family}${parts}` : family,
  ).join("|");
}

class ScraperProcess implements Scraper {
  readonly #child: ChildProcess;
  readonly #folder: string;

  constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
  }

  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // Fields 14 and 15 of proc(5): utime and stime. The first two were removed with the name.
    const ticks = Number(fields[UTIME - 2]) + Number(fields[UTIME - 1]);
    return (ticks * 1_000) / TICKS_PER_SECOND;
  }

  async close(): Promise<void> {
    this.#child.kill("SIGTERM");
    if (this.#child.exitCode === null) await once(this.#child, "exit");
    rmSync(this.#folder, { recursive: true });
  }
}

export function startOurs({ url, targets, kind, intervalMs, reduce }: ScraperOptions): Scraper {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-bench-"));
  const child = spawn(
    process.execPath,
    [...TUNED, join(import.meta.dirname, "../../../collector/src/main.ts")],
    {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      env: {
        ...process.env,
        ISOCHRONE_COLLECTOR_NODE: "bench",
        ISOCHRONE_COLLECTOR_AGGREGATOR_URL: url,
        ISOCHRONE_COLLECTOR_STATIC_TARGETS: Array.from(
          { length: targets },
          (_, index) => `${kind}=${url}/metrics/${index}`,
        ).join(","),
        ISOCHRONE_COLLECTOR_INTERVAL_MS: String(intervalMs),
        ...tunedEnvironment({ collector: { timeoutMs: intervalMs - 10, reduce } }),
        ISOCHRONE_COLLECTOR_HOST: "127.0.0.1",
        ISOCHRONE_COLLECTOR_PORT: "0",
      },
    },
  );
  return new ScraperProcess(child, folder);
}

export async function startPeer({ url, targets, intervalMs, reduce }: ScraperOptions): Promise<Scraper> {
  const program = await collectorBinary();
  const folder = mkdtempSync(join(tmpdir(), "isochrone-bench-"));
  const config = {
    receivers: {
      prometheus: {
        config: {
          scrape_configs: Array.from({ length: targets }, (_, index) => ({
            job_name: `bench-${index}`,
            scrape_interval: `${intervalMs}ms`,
            scrape_timeout: `${intervalMs - 10}ms`,
            metrics_path: `/metrics/${index}`,
            static_configs: [{ targets: [new URL(url).host] }],
            metric_relabel_configs: [
              { source_labels: ["__name__"], regex: allowedNames(reduce), action: "keep" },
            ],
          })),
        },
      },
    },
    exporters: { otlp_http: { endpoint: url } },
    service: {
      telemetry: { metrics: { level: "none" }, logs: { level: "error" } },
      pipelines: { metrics: { receivers: ["prometheus"], exporters: ["otlp_http"] } },
    },
  };
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const child = spawn(program, ["--config", "config.yaml"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "ignore"],
  });
  return new ScraperProcess(child, folder);
}

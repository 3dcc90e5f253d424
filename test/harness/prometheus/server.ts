import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Debian's package `prometheus`. With CI set, a missing program is an error instead of a skip. */
export const canRunPrometheus =
  spawnSync("prometheus", ["--version"]).status === 0 || process.env["CI"] === "true";

const READY_WITHIN_MS = 20_000;

/** A scrape job; `labels` may contain __metrics_path__. */
export interface ScrapeConfig {
  readonly job: string;
  readonly address: string;
  readonly targets: readonly Readonly<Record<string, string>>[];
}

export interface RunningPrometheus {
  readonly url: string;
  /** Times of all samples up to `untilMs` of the last 5 minutes, by metric and sorted labels. */
  samples(selector: string, untilMs: number): Promise<Map<string, number[]>>;
  /** Pauses Prometheus: it neither scrapes nor responds. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

/** Scrapes once per second. Throws with Prometheus' log if it is not ready within 20 s. */
export async function startPrometheus(
  scrapeConfigs: readonly ScrapeConfig[],
  args: readonly string[] = [],
): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-prometheus-"));
  const file = join(folder, "prometheus.yml");
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(configOf(scrapeConfigs)));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      ...args,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-4000)));
  let failed = false;
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", (error) => {
      log = error.message;
      failed = true;
      resolve();
    });
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const ready = async (): Promise<boolean> => {
    const response = await fetch(`${url}/-/ready`).catch(() => null);
    return response?.status === 200;
  };
  for (const untilMs = Date.now() + READY_WITHIN_MS; !(await ready()); await sleep(100)) {
    if (Date.now() < untilMs && child.exitCode === null && !failed) continue;
    await stop();
    throw new Error(`prometheus must be ready within ${READY_WITHIN_MS} ms and was not: ${log}`);
  }
  return {
    url,
    samples: (selector, untilMs) => samplesOf(url, selector, untilMs),
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    stop,
  };
}

function configOf(scrapeConfigs: readonly ScrapeConfig[]): object {
  return {
    global: { scrape_interval: "1s", scrape_timeout: "900ms" },
    scrape_configs: scrapeConfigs.map(({ job, address, targets }) => ({
      job_name: job,
      honor_labels: true,
      static_configs: targets.map((labels) => ({ targets: [address], labels })),
      relabel_configs: [{ source_labels: ["__metrics_path__"], target_label: "metrics_path" }],
    })),
  };
}

async function samplesOf(url: string, selector: string, untilMs: number): Promise<Map<string, number[]>> {
  const body = new URLSearchParams({ query: `${selector}[5m]`, time: String(untilMs / 1000) });
  const response = await fetch(`${url}/api/v1/query`, { method: "POST", body });
  const { data } = (await response.json()) as {
    data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
  };
  return new Map(
    data.result.map(({ metric: { __name__, ...labels }, values }) => [
      `${__name__} ${JSON.stringify(sortedLabels(labels))}`,
      values.map(([seconds]) => Math.round(seconds * 1000)),
    ]),
  );
}

export function sortedLabels(labels: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

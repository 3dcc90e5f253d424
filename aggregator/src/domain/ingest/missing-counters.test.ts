import { seededRandom } from "@isochrone/runtime";
import type { Metric } from "@isochrone/telemetry";
import { describe, expect, test } from "vitest";
import { counter, istio, recordOf } from "../../testing/records.ts";
import { Ingest } from "./ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 300_000, paneMs: 10_000, panes: 30, fastPanes: 3, counterLagMs: 17_000 };
const SCRAPE_MS = 15_000;
const NOW = 1_700_000_000_000;
const NODES = 20;
const CHANNELS = 60;
const REPLICAS = 10;
const REQUESTS_PER_MS = 0.04;
const LIFE_MS = 900_000;
const LENGTH_MS = 600_000;

function createIngest(): { tables: Tables; ingest: Ingest } {
  const tables = new Tables(SHAPE, { maxLinks: 10, maxChannels: 1000, maxPods: 10 });
  return { tables, ingest: new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1e5, maxSources: 100 }) };
}

/** Rolling replacement of replicas; each node's pods are scraped together. */
function* scrapes(): Generator<{ node: string; atMs: number; metrics: Metric[] }> {
  const random = seededRandom(7);
  const phases = Array.from({ length: CHANNELS * REPLICAS }, () => random.next() * LIFE_MS);
  for (let atMs = 0; atMs <= LENGTH_MS; atMs += SCRAPE_MS / NODES) {
    const node = Math.round(atMs / (SCRAPE_MS / NODES)) % NODES;
    const metrics: Metric[] = [];
    for (let slot = node; slot < phases.length; slot += NODES) {
      const life = Math.floor((atMs + phases[slot]!) / LIFE_MS);
      const startMs = Math.max(life * LIFE_MS - phases[slot]!, -60_000);
      const channel = slot % CHANNELS;
      const labels = istio("source", `web-${channel}`, `db-${channel}`, {
        response_code: "200",
        pod: `${slot}-${life}`,
      });
      const count = Math.floor((atMs - startMs) * REQUESTS_PER_MS);
      metrics.push(counter("istio_requests_total", labels, NOW + atMs, count, NOW + startMs));
    }
    yield { node: `n${node}`, atMs: NOW + atMs, metrics };
  }
}

function errorsOf(tables: Tables): number[] {
  return [...tables.channels.values()].map(
    (channel) =>
      channel.rates(NOW + LENGTH_MS, "full")!.requestsPerSecond! / (REPLICAS * REQUESTS_PER_MS * 1000) - 1,
  );
}

describe("replicas that come and go", () => {
  test("leave the rate of their channel within 1 %, and not too small on average", () => {
    const { tables, ingest } = createIngest();
    let sequence = 0;
    for (const { node, atMs, metrics } of scrapes())
      ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs, sequence: sequence++, source: node }), atMs);
    const errors = errorsOf(tables);
    expect(errors).toHaveLength(CHANNELS);
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(0.01);
    expect(Math.abs(errors.reduce((sum, error) => sum + error, 0) / CHANNELS)).toBeLessThan(0.0005);
  });
});

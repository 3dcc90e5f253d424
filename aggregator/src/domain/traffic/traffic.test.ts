import type { Metric } from "@isochrone/telemetry";
import { seededRandom } from "@isochrone/runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { counter, istio, recordOf } from "../../testing/records.ts";
import type { ChannelRates } from "./channels.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const SCRAPE_MS = 2000;

let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  tables = new Tables(SHAPE, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 });
});

function take(node: string, metrics: readonly Metric[], atMs: number): void {
  ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs }), atMs);
}

function rates(nowMs: number): ChannelRates | null {
  const [channel] = tables.channels.values();
  return channel?.rates(nowMs, "full") ?? null;
}

function requests(pod: string, reporter: string, code = "200") {
  return istio(reporter, "web", "db", { response_code: code, pod });
}

class SimulatedPod {
  readonly #node: string;
  readonly #pod: string;
  readonly #reporter: string;
  total = 0;

  constructor(node: string, pod: string, reporter = "source") {
    this.#node = node;
    this.#pod = pod;
    this.#reporter = reporter;
  }

  scrape(atMs: number, startMs?: number): void {
    take(
      this.#node,
      [counter("istio_requests_total", requests(this.#pod, this.#reporter), atMs, this.total, startMs)],
      atMs,
    );
  }
}

describe("rates from counters", () => {
  test("a constant rate is found exactly at any moment between two scrapes", () => {
    const pod = new SimulatedPod("a", "web-1");
    const errors: number[] = [];
    for (let ms = 0; ms <= 60_000; ms += 100) {
      pod.total += 5;
      if (ms % SCRAPE_MS === 0) pod.scrape(NOW + ms);
      if (ms > 4000) errors.push(Math.abs(rates(NOW + ms)!.requestsPerSecond! - 50));
    }
    expect(errors).toHaveLength(560);
    expect(Math.max(...errors)).toBeLessThan(1e-6);
  });

  test.each([
    { counterLagMs: 6000, least: -0.001, most: 0.001 },
    { counterLagMs: 0, least: -0.2, most: -0.05 },
  ])(
    "pods that are scraped in turns don't make the rate too small, with a lag of $counterLagMs ms",
    ({ counterLagMs, least, most }) => {
      tables = new Tables({ ...SHAPE, counterLagMs }, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
      ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 });
      const pods = Array.from({ length: 10 }, (_, i) => new SimulatedPod("a", `web-${i}`));
      const errors: number[] = [];
      for (let ms = 0; ms <= 60_000; ms += 100) {
        for (const [i, pod] of pods.entries()) {
          pod.total += 5;
          if (ms % 5000 === i * 500) pod.scrape(NOW + ms);
        }
        if (ms > 40_000) errors.push(rates(NOW + ms)!.requestsPerSecond! / 500 - 1);
      }
      expect(Math.min(...errors)).toBeGreaterThan(least);
      expect(Math.max(...errors)).toBeLessThan(most);
    },
  );

  test("a channel that is younger than the lag has its rate all the same", () => {
    tables = new Tables({ ...SHAPE, counterLagMs: 6000 }, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
    ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 });
    const pod = new SimulatedPod("a", "web-1");
    pod.scrape(NOW);
    pod.total = 100;
    pod.scrape(NOW + 2000);
    expect(rates(NOW + 2500)!.requestsPerSecond).toBeCloseTo(50, 6);
  });

  test("a Poisson process is followed within 5 % on average, without bias", () => {
    const random = seededRandom(7);
    const pod = new SimulatedPod("a", "web-1");
    const perSecond = 200;
    let nextMs = 0;
    const found: number[] = [];
    for (let ms = 0; ms <= 300_000; ms += SCRAPE_MS) {
      while (nextMs <= ms) {
        pod.total++;
        nextMs -= (Math.log(1 - random.next()) * 1000) / perSecond;
      }
      pod.scrape(NOW + ms);
      if (ms >= SHAPE.windowMs) found.push(rates(NOW + ms + 1700)!.requestsPerSecond!);
    }
    const mean = found.reduce((sum, rate) => sum + rate, 0) / found.length;
    expect(Math.abs(mean / perSecond - 1)).toBeLessThan(0.02);
    expect(Math.max(...found.map((rate) => Math.abs(rate / perSecond - 1)))).toBeLessThan(0.05);
  });

  test("a restart of the pod in mid-window costs a few percent at most", () => {
    const pod = new SimulatedPod("a", "web-1");
    for (let ms = 0; ms <= 20_000; ms += 100) {
      if (ms === 10_100) pod.total = 0;
      pod.total += 5;
      if (ms % SCRAPE_MS === 0) pod.scrape(NOW + ms);
    }
    expect(Math.abs(rates(NOW + 20_000)!.requestsPerSecond! / 50 - 1)).toBeLessThan(0.03);
  });

  test("a pod that moves to another node in mid-window keeps what it had counted", () => {
    const first = new SimulatedPod("a", "web-1");
    const second = new SimulatedPod("b", "web-2");
    for (let ms = 0; ms <= 20_000; ms += 100) {
      const pod = ms <= 10_000 ? first : second;
      pod.total += 5;
      if (ms % SCRAPE_MS === 0) pod.scrape(NOW + ms, ms <= 10_000 ? undefined : NOW + 10_000);
    }
    expect(rates(NOW + 20_000)!.requestsPerSecond).toBeCloseTo(50, 0);
  });

  test("replicas add up, and a total never mixes their counters", () => {
    const pods = [new SimulatedPod("a", "web-1"), new SimulatedPod("b", "web-2")];
    for (let ms = 0; ms <= 20_000; ms += SCRAPE_MS) {
      for (const [index, pod] of pods.entries()) {
        pod.total += index === 0 ? 20 : 2000;
        pod.scrape(NOW + ms);
      }
    }
    expect(rates(NOW + 20_000)!.requestsPerSecond).toBeCloseTo(1010, 6);
  });

  test("a source that started long ago is no burst of requests when it is first heard of", () => {
    const pod = new SimulatedPod("a", "web-1");
    pod.total = 1_000_000;
    pod.scrape(NOW, NOW - 3_600_000);
    pod.total += 100;
    pod.scrape(NOW + SCRAPE_MS, NOW - 3_600_000);
    expect(rates(NOW + SCRAPE_MS)!.requestsPerSecond).toBeCloseTo(50, 6);
  });

  test("silence of a whole window leaves nothing", () => {
    const pod = new SimulatedPod("a", "web-1");
    for (let ms = 0; ms <= 4000; ms += SCRAPE_MS) {
      pod.total += 10;
      pod.scrape(NOW + ms);
    }
    tables.expire(NOW + 40_000, () => false);
    expect(rates(NOW + 40_000)).toBeNull();
    expect(tables.channels.size).toBe(0);
  });
});

describe("reporters", () => {
  test("requests that both ends report count once, by the source", () => {
    const source = new SimulatedPod("a", "web-1", "source");
    const destination = new SimulatedPod("b", "db-1", "destination");
    for (let ms = 0; ms <= 10_000; ms += SCRAPE_MS) {
      for (const pod of [source, destination]) pod.scrape(NOW + ms);
      source.total += 100;
      destination.total += 104;
    }
    expect(rates(NOW + 10_000)).toMatchObject({ reporter: "source", requestsPerSecond: 50 });
  });

  test("a channel whose source has no proxy is counted by the destination", () => {
    const destination = new SimulatedPod("b", "db-1", "destination");
    for (let ms = 0; ms <= 10_000; ms += SCRAPE_MS) {
      destination.scrape(NOW + ms);
      destination.total += 60;
    }
    expect(rates(NOW + 10_000)).toMatchObject({ reporter: "destination", requestsPerSecond: 30 });
  });

  test("when the source's proxy falls silent for a window, the destination's reports take over", () => {
    const source = new SimulatedPod("a", "web-1", "source");
    const destination = new SimulatedPod("b", "db-1", "destination");
    const chosen = new Map<number, string>();
    for (let ms = 0; ms <= 60_000; ms += SCRAPE_MS) {
      if (ms <= 10_000) source.scrape(NOW + ms);
      destination.scrape(NOW + ms);
      source.total += 100;
      destination.total += 100;
      chosen.set(ms, rates(NOW + ms)?.reporter ?? "none");
    }
    // The window that ends with the pane of 38 s starts at 10 s, the time of the source's last report.
    expect([2000, 10_000, 36_000, 38_000, 60_000].map((ms) => chosen.get(ms))).toEqual([
      "source",
      "source",
      "source",
      "destination",
      "destination",
    ]);
    expect(rates(NOW + 60_000)!.requestsPerSecond).toBeCloseTo(50, 6);
  });

  test("a waypoint's report stands for both ends", () => {
    for (let i = 0; i <= 3; i++) {
      const at = NOW + i * SCRAPE_MS;
      take(
        "a",
        [
          counter("istio_requests_total", requests("w", "waypoint"), at, i * 10),
          counter("istio_tcp_sent_bytes_total", requests("z", "source"), at, i * 99_999),
        ],
        at,
      );
    }
    expect(rates(NOW + 6000)).toMatchObject({
      reporter: "waypoint",
      requestsPerSecond: 5,
      bytesPerSecond: null,
    });
  });

  test("only Istio's own reporters are believed of Istio's metrics", () => {
    for (const reporter of ["service_graph", "hubble_client", "ztunnel", ""])
      take("a", [counter("istio_requests_total", requests("web-1", reporter), NOW, 1)], NOW);
    expect(tables.channels.size).toBe(0);
    expect(ingest.counts.unused.unattributed).toBe(4);
  });

  test("one side's choice doesn't depend on the other channels'", () => {
    for (let i = 0; i <= 3; i++) {
      const at = NOW + i * SCRAPE_MS;
      take(
        "a",
        [
          counter("istio_requests_total", requests("web-1", "source"), at, i * 10),
          counter(
            "istio_requests_total",
            istio("destination", "db", "disk", { response_code: "200" }),
            at,
            i * 4,
          ),
        ],
        at,
      );
    }
    const found = [...tables.channels.values()].map((channel) => [
      channel.key.target,
      channel.rates(NOW + 6000, "full")!.reporter,
    ]);
    expect(found).toEqual([
      ["db", "source"],
      ["disk", "destination"],
    ]);
  });
});

describe("what is counted", () => {
  test("5xx and unanswered requests are errors, 4xx are not", () => {
    for (let i = 0; i <= 2; i++) {
      const at = NOW + i * SCRAPE_MS;
      take(
        "a",
        [
          ["200", 60],
          ["404", 20],
          ["503", 15],
          ["0", 5],
        ].map(([code, each]) =>
          counter("istio_requests_total", requests("web-1", "source", String(code)), at, i * Number(each)),
        ),
        at,
      );
    }
    expect(rates(NOW + 4000)!.errorRatio).toBeCloseTo(0.2, 6);
  });

  test("bytes are those of requests and responses, as sums or as histograms, and of plain TCP", () => {
    for (let i = 0; i <= 2; i++) {
      const at = NOW + i * SCRAPE_MS;
      const histogram: Metric = {
        kind: "histogram",
        name: "istio_response_bytes",
        temporality: "cumulative",
        points: [
          {
            attributes: requests("web-1", "source"),
            timeMs: at,
            count: i * 10,
            sum: i * 4000,
            explicitBounds: [1000],
            bucketCounts: [i * 10, 0],
          },
        ],
      };
      take(
        "a",
        [
          counter("istio_request_bytes_sum", requests("web-1", "source"), at, i * 1000),
          counter("istio_request_bytes_count", requests("web-1", "source"), at, i * 10),
          histogram,
          counter("istio_tcp_sent_bytes_total", requests("web-1", "source"), at, i * 500),
          counter("istio_tcp_received_bytes_total", requests("web-1", "source"), at, i * 500),
        ],
        at,
      );
    }
    expect(rates(NOW + 4000)).toMatchObject({
      bytesPerSecond: 3000,
      requestsPerSecond: null,
      errorRatio: null,
    });
  });
});

// CPU from gzip bytes to published OTLP, minus idle CPU, of our collector and the OpenTelemetry Collector.
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchResult } from "../types.ts";
import { packed, PageServer, type PackedPage } from "./page-server.ts";
import { malformedPage, nodePage, openMetricsPage, sidecarPage, type BenchPage } from "./pages.ts";
import { allowedNames, startOurs, startPeer, type Scraper, type ScraperOptions } from "./scrapers.ts";

const WARM_ROUNDS = 10;
const ROUNDS = 8;
const INTERVAL_MS = 1_000;
const IDLE_INTERVAL_MS = 3_600_000;
const IDLE_START_MS = 6_000;
const IDLE_MS = 2_000;
const IDLE_WINDOWS = 3;
const MAX_RATIO = 0.5;
const SIDECARS = 12;

interface Scenario {
  readonly name: string;
  readonly kind: ScraperOptions["kind"];
  readonly targets: number;
  readonly page: (round: number) => BenchPage;
  readonly reduce?: boolean;
  /** Whether the ratio has a limit. @default true */
  readonly judged?: boolean;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "node of 110 pods (cAdvisor), fresh labels",
    kind: "cadvisor",
    targets: 5,
    page: (round) => nodePage(round, true),
  },
  {
    name: "sidecar, 25 labels, fresh",
    kind: "istio",
    targets: SIDECARS,
    page: (round) => sidecarPage(round, { fresh: true }),
  },
  {
    name: "sidecar, fresh labels, all labels and buckets kept",
    kind: "istio",
    targets: SIDECARS,
    reduce: false,
    page: (round) => sidecarPage(round, { fresh: true }),
  },
  {
    name: "sidecar, labels as before",
    kind: "istio",
    targets: SIDECARS,
    page: (round) => sidecarPage(round, { fresh: false }),
    judged: false,
  },
  {
    name: "sidecar, fresh and escaped labels",
    kind: "istio",
    targets: SIDECARS,
    page: (round) => sidecarPage(round, { fresh: true, escaped: true }),
  },
  {
    name: "OpenMetrics with exemplars, fresh labels",
    kind: "istio",
    targets: SIDECARS,
    page: openMetricsPage,
  },
  { name: "sidecar, a malformed line at the end", kind: "istio", targets: SIDECARS, page: malformedPage },
];

interface Measured {
  readonly cpuMs: number;
  readonly points: number;
}

type Start = (options: ScraperOptions) => Scraper | Promise<Scraper>;

/** CPU per second of a program without targets. */
async function idleRate(start: Start): Promise<number> {
  const server = new PageServer([packed({ text: "up 1\n", format: "text" })]);
  const url = await server.start();
  const scraper = await start({ url, targets: 1, kind: "istio", intervalMs: IDLE_INTERVAL_MS, reduce: true });
  await sleep(IDLE_START_MS);
  // Takes the minimum of several windows, because start-up work is not idling.
  let rate = Infinity;
  for (let window = 0; window < IDLE_WINDOWS; window++) {
    const before = scraper.cpuMs();
    await sleep(IDLE_MS);
    rate = Math.min(rate, (scraper.cpuMs() - before) / IDLE_MS);
  }
  await scraper.close();
  await server.close();
  return rate;
}

/** CPU of the pages after the warm-up, each scraped once. */
async function measure(
  start: Start,
  pages: readonly PackedPage[],
  { kind, targets, reduce = true }: Scenario,
  idle: number,
): Promise<Measured> {
  const server = new PageServer(pages);
  const url = await server.start();
  const [begin, end] = [
    server.untilAsked(WARM_ROUNDS * targets),
    server.untilAsked((WARM_ROUNDS + ROUNDS) * targets),
  ];
  const scraper = await start({ url, targets, kind, intervalMs: INTERVAL_MS, reduce });
  await begin;
  const cpuBefore = scraper.cpuMs();
  const begunMs = performance.now();
  await end;
  const elapsedMs = performance.now() - begunMs;
  const cpuMs = scraper.cpuMs() - cpuBefore - idle * elapsedMs;
  await sleep(INTERVAL_MS);
  await scraper.close();
  await server.close();
  return { cpuMs, points: server.points };
}

export async function run(): Promise<BenchResult[]> {
  const idle = { ours: await idleRate(startOurs), peer: await idleRate(startPeer) };
  const results: BenchResult[] = [];
  for (const scenario of SCENARIOS) {
    const { pages, samples } = pagesOf(scenario);
    const ours = await measure(startOurs, pages, scenario, idle.ours);
    const peer = await measure(startPeer, pages, scenario, idle.peer);
    results.push(...resultsOf(scenario, pages, samples, ours, peer));
  }
  return results;
}

function pagesOf({ page, targets, reduce = true }: Scenario): { pages: PackedPage[]; samples: number } {
  const count = (WARM_ROUNDS + ROUNDS + 1) * targets;
  const pages = Array.from({ length: count }, (_, round) => packed(page(round)));
  const allowed = new RegExp(`^(?:${allowedNames(reduce)})[{ ]`, "gm");
  return { pages, samples: [...page(0).text.matchAll(allowed)].length };
}

function resultsOf(
  { name, targets, judged = true }: Scenario,
  pages: readonly PackedPage[],
  samples: number,
  ours: Measured,
  peer: Measured,
): BenchResult[] {
  if (ours.points === 0) throw new Error(`${name}: nothing was published`);
  const begin = WARM_ROUNDS * targets;
  const measured = pages.slice(begin, begin + ROUNDS * targets);
  const megabytes = measured.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
  const ratio = ours.cpuMs / peer.cpuMs;
  const verdict = judged ? { target: `<= ${MAX_RATIO} x the peer`, met: ratio <= MAX_RATIO } : {};
  const shape = `${(megabytes / measured.length).toFixed(1)} MB, ${samples} samples kept`;
  const per = (unit: string, scale: number, count: number): BenchResult => ({
    name: `scrape, ${name} (${shape})`,
    value: (ours.cpuMs * scale) / count,
    unit,
    ...verdict,
    peer: `otelcol ${((peer.cpuMs * scale) / count).toFixed(2)} ${unit} (points sent: ours ${ours.points}, otelcol ${peer.points})`,
    ratio,
  });
  return [per("CPU ms/MB", 1, megabytes), per("CPU us/kept sample", 1_000, samples * measured.length)];
}

// Queueing simulation of advised weights with the lab's kube-proxy.
import { MinHeap, quantile, seeded, type Draw } from "@isochrone/primitives";
import { zoneAdvice } from "@isochrone/placement/testing";
import { describe, expect, it } from "vitest";
import { byHints } from "./kube-proxy.ts";

const CASES = 50;
const REQUESTS = 20_000;
const WARM_UP = 2_000;
const MAX_CPU_USE = 0.75;
/** Noise of p95 in a run of this length. */
const NOISE = 1.1;

interface SimEndpoint {
  readonly name: string;
  readonly zone: string;
  readonly capacityMillicores: number;
}

interface Case {
  readonly endpoints: readonly SimEndpoint[];
  readonly rates: ReadonlyMap<string, number>;
  readonly cpuMs: number;
  readonly idleMillicores: number;
  readonly farMs: number;
}

/** Zones, replicas and rates, slightly or far out of balance. */
function generated(draw: Draw): Case {
  const zones = ["a", "b", "c", "d"].slice(0, 2 + Math.floor(draw() * 3));
  const tilt = draw() < 0.6 ? 0.1 : 1.5;
  const counts = zones.map(() => 1 + Math.floor(draw() * 4));
  const endpoints = zones.flatMap((zone, at) =>
    Array.from({ length: counts[at]! }, (_, number) => ({
      name: `${zone}${number}`,
      zone,
      capacityMillicores: 500 * (1 + Math.floor(draw() * 3)),
    })),
  );
  const cpuMs = 2 + draw() * 20;
  const capacity = endpoints.reduce((sum, { capacityMillicores }) => sum + capacityMillicores, 0);
  const each = ((0.1 + 0.5 * draw()) * capacity) / cpuMs / endpoints.length;
  const rates = new Map(
    zones.map((zone, at) => [zone, counts[at]! * each * Math.exp((draw() - 0.5) * tilt)]),
  );
  return { endpoints, rates, cpuMs, idleMillicores: draw() * 30, farMs: 0.5 + draw() * 20 };
}

function adviceOn({ endpoints, rates, cpuMs, idleMillicores, farMs }: Case) {
  const whole = [...rates.values()].reduce((sum, rate) => sum + rate, 0);
  return zoneAdvice({
    demand: {
      zones: Array.from(rates, ([zone, rate]) => ({ zone, bytesPerSecond: rate, requestsPerSecond: rate })),
      unknownCallers: [],
    },
    endpoints,
    cpuMillicores: idleMillicores + (whole * cpuMs) / endpoints.length,
    maxCpuUse: MAX_CPU_USE,
    roundTripMs: (from, to) => (from === to ? 0.2 : farMs),
  });
}

interface Outcome {
  readonly use: number;
  readonly p95Ms: number;
}

type SimEvent =
  | { readonly kind: "asks"; readonly zone: string }
  | { readonly kind: "answers"; readonly at: number; readonly since: number; readonly zone: string };

/** M/M/c queues, first come first served, one core per request. */
function simulated(
  { endpoints, rates, cpuMs, idleMillicores, farMs }: Case,
  near: boolean,
  draw: Draw,
): Outcome {
  const exponential = (mean: number): number => -mean * Math.log(1 - draw());
  const hinted = endpoints.map((endpoint, at) => ({
    at,
    zone: endpoint.zone,
    forNodes: [],
    forZones: near ? [endpoint.zone] : [],
  }));
  const free = endpoints.map(({ capacityMillicores }) => Math.max(1, Math.floor(capacityMillicores / 1e3)));
  const queues = endpoints.map((): { readonly since: number; readonly zone: string }[] => []);
  const worked = endpoints.map(() => 0);
  const taken = new Map(Array.from(rates.keys(), (zone): [string, number[]] => [zone, []]));
  const events = new MinHeap<SimEvent>();
  for (const [zone, rate] of rates) events.push(exponential(1e3 / rate), { kind: "asks", zone });
  let [now, count] = [0, 0];
  const start = (at: number): void => {
    while (free[at]! > 0 && queues[at]!.length > 0) {
      free[at]!--;
      const work = exponential(cpuMs);
      worked[at]! += work;
      const ms = (work * 1e3) / Math.min(1e3, endpoints[at]!.capacityMillicores);
      events.push(now + ms, { kind: "answers", at, ...queues[at]!.shift()! });
    }
  };
  while (count < REQUESTS) {
    now = events.nextKey;
    const event = events.pop()!;
    if (event.kind === "answers") {
      free[event.at]!++;
      const way = endpoints[event.at]!.zone === event.zone ? 0.2 : farMs;
      if (count > WARM_UP) taken.get(event.zone)!.push(now - event.since + way);
      start(event.at);
      continue;
    }
    count++;
    events.push(now + exponential(1e3 / rates.get(event.zone)!), event);
    const asked = byHints(hinted, { node: "n", zone: event.zone });
    const { at } = asked[Math.floor(draw() * asked.length)]!;
    queues[at]!.push({ since: now, zone: event.zone });
    start(at);
  }
  return {
    use: Math.max(
      ...endpoints.map(
        ({ capacityMillicores }, at) => (idleMillicores + (worked[at]! / now) * 1e3) / capacityMillicores,
      ),
    ),
    p95Ms: Math.max(...Array.from(taken.values(), (times) => quantile(times, 0.95)!)),
  };
}

interface Judged {
  readonly verdict: string;
  readonly all: Outcome;
  readonly near: Outcome;
}

const judged: readonly Judged[] = (() => {
  const draw = seeded(7);
  return Array.from({ length: CASES }, () => {
    const one = generated(draw);
    const { verdict } = adviceOn(one);
    return { verdict, all: simulated(one, false, draw), near: simulated(one, true, draw) };
  });
})();
const of = (...verdicts: readonly string[]): readonly Judged[] =>
  judged.filter(({ verdict }) => verdicts.includes(verdict));

describe("PreferSameZone, as it was advised", () => {
  it("starves no zone that it was called safe for, nor where it was called slower", () => {
    expect(of("safe").length).toBeGreaterThan(5);
    const most = Math.max(...of("safe", "slower").map(({ near }) => near.use));
    expect(most).toBeLessThanOrEqual(MAX_CPU_USE * 1.05);
  });

  it("doesn't make the slowest zone's p95 longer where it was called safe, but does on average elsewhere", () => {
    const growths = (verdict: string): number[] => of(verdict).map(({ all, near }) => near.p95Ms / all.p95Ms);
    expect(Math.max(...growths("safe"))).toBeLessThanOrEqual(NOISE);
    expect(quantile(growths("slower"), 0.5)).toBeGreaterThan(1);
  });

  it("overloads an endpoint where a zone was said to starve", () => {
    expect(of("starves").length).toBeGreaterThan(5);
    const least = Math.min(...of("starves").map(({ near }) => near.use));
    // Endpoints' idle usage counts as caused by requests.
    expect(least).toBeGreaterThan(MAX_CPU_USE * 0.85);
  });
});

// Moves and plans on noisy measurements, judged by the noise-free truth.
import { seeded, type Draw } from "@isochrone/primitives";
import type { Link } from "@isochrone/topology";
import { costInterval, fewestSamples, PairErrors } from "@isochrone/topology/link-errors";
import { expect, test } from "vitest";
import { WorkflowSteps } from "../feasibility/planning/workflow-steps.ts";
import { createObjective } from "../planner/objective/objective.ts";
import { planSettings } from "../planner/objective/plan-settings.ts";
import { plan } from "../planner/search/plan.ts";
import { link } from "../testing/index.ts";
import { decide } from "./testing/decisions.ts";
import { RULES, shop, type Shop, type ShopOptions } from "./testing/shop.ts";

const ZONES = ["za", "zb", "zc"];
const NODES: Readonly<Record<string, string>> = Object.fromEntries(
  ZONES.flatMap((zone) => [1, 2, 3].map((at) => [`${zone}-${at}`, zone])),
);
const NAMES = Object.keys(NODES);
const WINDOW_SECONDS = 30;
const BYTES_PER_REQUEST = 2_000;

interface Truth {
  readonly pods: Readonly<Record<string, readonly string[]>>;
  readonly channels: readonly (readonly [string, string, number])[];
  readonly rttMs: (a: string, b: string) => number;
}

const pairOf = (a: string, b: string): string => [a, b].sort().join(" ");

/** @param areAlike all distances within zones are equal, and all between zones */
function truthOf(draw: Draw, areAlike: boolean): Truth {
  const rtts = new Map<string, number>();
  const between = new Map<string, number>();
  for (const a of ZONES) for (const b of ZONES) between.set(pairOf(a, b), areAlike ? 20 : 5 + 60 * draw());
  for (const a of NAMES)
    for (const b of NAMES.filter((name) => name > a))
      rtts.set(
        pairOf(a, b),
        (NODES[a] === NODES[b] ? 1.3 : between.get(pairOf(NODES[a]!, NODES[b]!))!) *
          (areAlike ? 1 : 0.9 + 0.2 * draw()),
      );
  const workloads = Array.from({ length: 7 }, (_, at) => `w${at}`);
  const channels = workloads.slice(1).map((name, at) => {
    const caller = workloads[Math.floor(draw() * (at + 1))]!;
    return [caller, name, BYTES_PER_REQUEST * (2 + 20 * draw())] as const;
  });
  const pods = workloads.map((name) => [name, [NAMES[Math.floor(draw() * NAMES.length)]!]]);
  return { pods: Object.fromEntries(pods), channels, rttMs: (a, b) => rtts.get(pairOf(a, b))! };
}

function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

function samplesOf(rttMs: number, count: number, biasMs: number, draw: Draw): number[] {
  return Array.from({ length: count }, () => {
    const queueMs = (0.3 + 0.03 * rttMs) * Math.exp(0.7 * normal(draw));
    return rttMs + biasMs + queueMs + (draw() < 0.05 ? 10 + 50 * draw() : 0);
  });
}

const queuedMs = (rttMs: number): number => rttMs + 0.3 + 0.03 * rttMs;

function roundTripsOf(samples: readonly number[]) {
  const sorted = samples.map((ms) => ms / 1000).toSorted((a, b) => a - b);
  const count = sorted.length;
  return {
    count,
    min: sorted[0]!,
    max: sorted[count - 1]!,
    mean: sorted.reduce((sum, seconds) => sum + seconds, 0) / count,
    quantile: (q: number) => sorted[Math.max(0, Math.ceil(q * count - 1e-9) - 1)]!,
  };
}

/** Measures as the aggregator does: both directions by two methods. */
function measured(truth: Truth, draw: Draw): Map<string, Link> {
  const errors = new PairErrors(WINDOW_SECONDS, NAMES.length ** 2);
  const links = new Map<string, Link>();
  for (const [from, a] of NAMES.entries())
    for (const [to, b] of NAMES.entries())
      for (const method of ["udp_rr", "tcp_rr"] as const) {
        if (a === b) continue;
        const count = [5, 7, 15, 30, 60][Math.floor(draw() * 5)]!;
        const biasMs = count < 15 && draw() < 0.1 ? 35 * draw() : 0;
        const longer = method === "tcp_rr" ? 1.1 : 1;
        const rtt = roundTripsOf(samplesOf(truth.rttMs(a, b) * longer, count, biasMs, draw));
        const built = link(a, b, rtt.quantile(0.5) * 1000, {
          method,
          provisional: count < fewestSamples("p50"),
        });
        errors.add(
          built,
          Math.min(from, to) * NAMES.length + Math.max(from, to),
          costInterval(rtt, "p50")!,
          1,
        );
        if (method === "udp_rr") links.set(`${a} ${b}`, built);
      }
  for (const _ of errors.write());
  return links;
}

function counted(bytesPerSecond: number, draw: Draw): number {
  const requests = (bytesPerSecond / BYTES_PER_REQUEST) * WINDOW_SECONDS;
  return bytesPerSecond * Math.max(0.1, 1 + normal(draw) / Math.sqrt(requests));
}

function seenBy({ pods, channels, rttMs }: Truth, draw: Draw): Shop {
  const links = measured({ pods, channels, rttMs }, draw);
  return shopOf({
    pods,
    channels: channels.map(([from, to, rate]) => [from, to, counted(rate, draw)]),
    linkOf: (a, b) => links.get(`${a} ${b}`)!,
  });
}

const shopOf = (options: Omit<ShopOptions, "nodes">): Shop => shop({ nodes: NODES, cpus: 4, ...options });

function trueShop({ pods, channels, rttMs }: Truth): Shop {
  return shopOf({ pods, channels, costMs: (a, b) => queuedMs(rttMs(a, b)), errorMs: 0 });
}

const SETTINGS = planSettings({ ...RULES, moveCost: 0 });

/** Node by pod after the decided moves. Null: no move. */
function movedBy(seen: Shop): Int32Array | null {
  const { workflow } = seen;
  const { moves } = decide(seen, { minNodes: 1, minZones: 1 });
  if (moves.length === 0) return null;
  const after = Int32Array.from(workflow.problem.pods, ({ current }) => current);
  for (const { pod, to } of moves) after[workflow.pods.indexOf(pod)] = NAMES.indexOf(to);
  return after;
}

/** Node by pod of the displayed plan. Null: all pods stay. */
function plannedBy({ workflow: { problem } }: Shop, seed: number): Int32Array | null {
  const limits = { seed, now: () => 0, deadlineMs: 1, effort: 20_000 };
  const found = plan(problem, { ...SETTINGS, ...limits });
  const running = { problem: { ...problem, availability: [], notes: [] }, kept: [], blocked: new Map() };
  const { steps, target } = new WorkflowSteps(running, {}).fresh({ open: found, blocked: null });
  return steps.length === 0 ? null : target;
}

/** True saving of an assignment as a share of the current cost. */
function trueGain(truth: Shop, after: Int32Array): number {
  const { problem } = truth.workflow;
  const { total } = createObjective(problem, SETTINGS);
  const before = total(Int32Array.from(problem.pods, ({ current }) => current)).network;
  return (before - total(after).network) / before;
}

const DRAWS = 100;

test("of the moves and plans that pass, at most one in a hundred loses by the truth", () => {
  const gains: number[] = [];
  for (let seed = 1; seed <= DRAWS; seed++) {
    const draw = seeded(seed);
    const truth = truthOf(draw, false);
    const seen = seenBy(truth, draw);
    for (const after of [movedBy(seen), plannedBy(seen, seed)])
      if (after !== null) gains.push(trueGain(trueShop(truth), after));
  }
  const lost = gains.filter((gain) => gain <= 0);
  expect(gains.length).toBeGreaterThan(DRAWS / 2);
  expect(lost.length).toBeLessThanOrEqual(gains.length / 100);
});

function settledIn(zone: string, truth: Truth): Truth {
  const pods = Object.keys(truth.pods).map((name, at) => [name, [`${zone}-${1 + (at % 3)}`]]);
  return { ...truth, pods: Object.fromEntries(pods) };
}

test("mirror images and permutations of equal nodes never move", () => {
  let moved = 0;
  for (let seed = 1; seed <= DRAWS; seed++) {
    const draw = seeded(seed);
    const truth = truthOf(draw, true);
    const best = bestOf(settledIn(ZONES[seed % 3]!, truth), seed);
    const seen = seenBy(best, draw);
    for (const after of [movedBy(seen), plannedBy(seen, seed)])
      if (after !== null && trueGain(trueShop(best), after) <= 1e-9) moved++;
  }
  expect(moved).toBe(0);
});

function bestOf(truth: Truth, seed: number): Truth {
  const { problem } = trueShop(truth).workflow;
  const limits = { seed, now: () => 0, deadlineMs: 1, effort: 60_000 };
  const { assignment } = plan(problem, { ...SETTINGS, ...limits });
  const pods = problem.pods.map(({ workload }, pod) => [workload!, [NAMES[assignment[pod]!]!]]);
  return { ...truth, pods: Object.fromEntries(pods) };
}

test("a link that takes twenty times as long moves pods, and they gain", () => {
  const gains: number[] = [];
  for (let seed = 1; seed <= DRAWS; seed++) {
    const draw = seeded(seed);
    const best = bestOf(truthOf(draw, true), seed);
    const [from, to] = best.channels
      .map(([source, target]) => [best.pods[source]![0]!, best.pods[target]![0]!] as const)
      .find(([a, b]) => a !== b)!;
    const slow = pairOf(from, to);
    const rttMs = (a: string, b: string): number => best.rttMs(a, b) * (pairOf(a, b) === slow ? 20 : 1);
    const faulty = { ...best, rttMs };
    const after = movedBy(seenBy(faulty, draw));
    if (after !== null) gains.push(trueGain(trueShop(faulty), after));
  }
  expect(gains.length).toBeGreaterThan(DRAWS / 2);
  expect(gains.filter((gain) => gain <= 0).length).toBeLessThanOrEqual(gains.length / 100);
});

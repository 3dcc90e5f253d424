// Network time per request over the kept history at today's placement: past round trips weighted by calls.
// Pure.
import type { LinkHistory, WorkflowGraphSnapshot } from "@isochrone/topology";
import { milliseconds } from "../model/format.ts";
import { callsPerRequest } from "../model/request-time.ts";
import type { Mark } from "./marks.ts";

interface Way {
  readonly source: string;
  readonly target: string;
  readonly calls: number;
}

export function waysOf({
  workloads,
  channels,
}: Pick<WorkflowGraphSnapshot, "workloads" | "channels">): Way[] {
  const nodesOf = new Map(
    workloads.map(({ name, pods }) => [name, pods.map(({ node }) => node).filter((node) => node !== null)]),
  );
  const ways = new Map<string, { source: string; target: string; calls: number }>();
  const perRequest = callsPerRequest(channels);
  for (const channel of channels) {
    const calls = perRequest.get(`${channel.source}\n${channel.target}`) ?? 0;
    const sources = nodesOf.get(channel.source) ?? [];
    const targets = nodesOf.get(channel.target) ?? [];
    if (calls === 0) continue;
    for (const source of sources)
      for (const target of targets) {
        if (source === target) continue;
        const key = `${source}\n${target}`;
        const way = ways.get(key) ?? { source, target, calls: 0 };
        way.calls += calls / (sources.length * targets.length);
        ways.set(key, way);
      }
  }
  return [...ways.values()].sort((a, b) => b.calls - a.calls);
}

interface Past {
  readonly times: readonly number[];
  readonly totalMs: readonly (number | null)[];
  /** Pairs that stopped or resumed answering, or changed their delay. */
  readonly marks: readonly Mark[];
}

export function pastOf(ways: readonly Way[], histories: readonly (LinkHistory | null)[]): Past {
  const points = histories.map((history) => history?.points ?? []);
  const [first = []] = points;
  const byTime = points.map((each) => new Map(each.map((point) => [point.at, point.p50Ms])));
  const totalMs = first.map(({ at }) => {
    let total = 0;
    for (const [index, { calls }] of ways.entries()) {
      const ms = byTime[index]?.get(at) ?? null;
      if (ms === null) return null;
      total += calls * ms;
    }
    return total;
  });
  const marks = ways.flatMap((way, index) => [
    ...outagesOf(way, points[index] ?? []),
    ...stepsOf(way, points[index] ?? []),
  ]);
  return {
    times: first.map(({ at }) => Date.parse(at) / 1000),
    totalMs,
    marks: marks.sort((a, b) => a.at - b.at),
  };
}

function outagesOf({ source, target }: Way, points: LinkHistory["points"]): Mark[] {
  const marks: Mark[] = [];
  let wasOut: boolean | null = null;
  for (const { at, lossRatio } of points) {
    if (lossRatio === null) continue;
    const isOut = lossRatio === 1;
    const name = `${source} → ${target}`;
    const when = Date.parse(at) / 1000;
    if (isOut && wasOut === false) marks.push({ at: when, kind: "fault", text: `${name}: no answer` });
    if (!isOut && wasOut === true) marks.push({ at: when, kind: "heal", text: `${name}: answers again` });
    wasOut = isOut;
  }
  return marks;
}

const STEP_MS = 5;
const STEP_SHARE = 0.5;

const isStep = (before: number, after: number): boolean =>
  Math.abs(after - before) > Math.max(STEP_MS, STEP_SHARE * Math.min(before, after));

/** Persistent delay changes: the next point must confirm a step. */
function stepsOf({ source, target }: Way, points: LinkHistory["points"]): Mark[] {
  const known = points.flatMap(({ at, p50Ms }) => (p50Ms === null ? [] : [{ at, p50Ms }]));
  const marks: Mark[] = [];
  let level = known[0]?.p50Ms ?? 0;
  for (const [index, { at, p50Ms }] of known.entries()) {
    const next = known[index + 1]?.p50Ms;
    if (next === undefined) break;
    if (!isStep(level, p50Ms)) level = p50Ms;
    else if (!isStep(p50Ms, next)) {
      const kind = p50Ms > level ? "fault" : "heal";
      const text = `${source} → ${target}: ${milliseconds(level)} → ${milliseconds(p50Ms)}`;
      marks.push({ at: Date.parse(at) / 1000, kind, text });
      level = p50Ms;
    }
  }
  return marks;
}

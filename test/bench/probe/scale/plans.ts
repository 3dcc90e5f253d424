import { upperMedian } from "@isochrone/primitives";

interface Plan {
  readonly node: string;
  readonly peers: readonly { readonly node: string }[];
}

export interface PlanSurvey {
  readonly peers: ReadonlyMap<string, readonly string[]>;
  readonly bytes: Spread;
  readonly peersPerNode: Spread;
  readonly inDegree: Spread;
  /** Sequential requests, each until its complete response. */
  readonly requestMs: Spread;
}

export interface Spread {
  readonly min: number;
  readonly p50: number;
  readonly mean: number;
  readonly max: number;
}

/** Timeout for the aggregator's first plans. Milliseconds. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 50;

export async function surveyPlans(url: string, nodes: readonly string[]): Promise<PlanSurvey> {
  await planOnceReady(url, nodes.at(-1) ?? "");
  const peers = new Map<string, readonly string[]>();
  const bytes: number[] = [];
  const requestMs: number[] = [];
  for (const node of nodes) {
    const beganMs = performance.now();
    const text = await (await ask(url, node)).text();
    requestMs.push(performance.now() - beganMs);
    bytes.push(Buffer.byteLength(text));
    const plan = JSON.parse(text) as Plan;
    peers.set(
      node,
      plan.peers.map((peer) => peer.node),
    );
  }
  const inDegrees = new Map(nodes.map((node) => [node, 0]));
  for (const peer of [...peers.values()].flat()) inDegrees.set(peer, (inDegrees.get(peer) ?? 0) + 1);
  return {
    peers,
    bytes: spreadOf(bytes),
    peersPerNode: spreadOf([...peers.values()].map(({ length }) => length)),
    inDegree: spreadOf([...inDegrees.values()]),
    requestMs: spreadOf(requestMs),
  };
}

export async function planOnceReady(url: string, node: string): Promise<void> {
  await statusOnce(url, node, 200);
}

export async function planGone(url: string, node: string): Promise<void> {
  await statusOnce(url, node, 503);
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    min: sorted[0] ?? Number.NaN,
    p50: upperMedian(sorted) ?? Number.NaN,
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

async function statusOnce(url: string, node: string, wanted: number): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const response = await ask(url, node);
    await response.body?.cancel();
    if (response.status === wanted) return;
    if (performance.now() > deadlineMs)
      throw new Error(`the plan of ${node} must have status ${wanted} in time, got ${response.status}`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function ask(url: string, node: string): Promise<Response> {
  return fetch(`${url}/api/v1/probe-plan/${node}`);
}

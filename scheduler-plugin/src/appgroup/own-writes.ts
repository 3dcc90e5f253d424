import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";
import type { GroupPlan } from "./group-status.ts";

/** If our order is overwritten this often within the hold time, another writer is active. */
const MAX_OVERWRITES = 3;
const HOLD_MS = 600_000;

interface OwnWrite {
  readonly uid: string | undefined;
  readonly base: string | undefined;
  readonly atMs: number;
  readonly order: string;
}

interface Contest {
  overwrittenMs: number[];
  heldUntilMs: number;
}

export class OwnWrites {
  readonly holdMs = HOLD_MS;
  readonly #clock: Clock;
  readonly #writes = new Map<string, OwnWrite>();
  readonly #contests = new Map<string, Contest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wrote(key: string, { metadata: { uid, resourceVersion: base } }: KubernetesObject, plan: GroupPlan): void {
    this.#writes.set(key, { uid, base, atMs: this.#clock.monotonic(), order: orderText(plan) });
  }

  /** True if this is the object before our last write: the informer lags. */
  isBase(key: string, { metadata }: KubernetesObject): boolean {
    const last = this.#writes.get(key);
    return last !== undefined && last.uid === metadata.uid && last.base === metadata.resourceVersion;
  }

  /** Time until the next write may happen, given a least interval. */
  waitMs(key: string, intervalMs: number): number {
    const last = this.#writes.get(key);
    return last === undefined ? 0 : Math.max(0, last.atMs + intervalMs - this.#clock.monotonic());
  }

  /** True if another writer keeps reverting the order. Call once per intended write. */
  isContested(key: string, { metadata: { uid } }: KubernetesObject, plan: GroupPlan): boolean {
    const nowMs = this.#clock.monotonic();
    const contest = this.#contests.get(key) ?? { overwrittenMs: [], heldUntilMs: 0 };
    if (nowMs < contest.heldUntilMs) return true;
    const last = this.#writes.get(key);
    if (!plan.isOrderChanged || last?.uid !== uid || last?.order !== orderText(plan)) return false;
    contest.overwrittenMs = [...contest.overwrittenMs.filter((atMs) => nowMs - atMs < HOLD_MS), nowMs];
    this.#contests.set(key, contest);
    if (contest.overwrittenMs.length < MAX_OVERWRITES) return false;
    contest.overwrittenMs = [];
    contest.heldUntilMs = nowMs + HOLD_MS;
    return true;
  }

  forget(key: string): void {
    this.#writes.delete(key);
    this.#contests.delete(key);
  }
}

function orderText({ order }: GroupPlan): string {
  return JSON.stringify(order.order);
}

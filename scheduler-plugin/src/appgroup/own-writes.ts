import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";
import type { GroupPlan } from "./group-status.ts";

/** An order that we wrote is found changed this often within the hold time: somebody else is at work. */
const MAX_OVERWRITES = 3;
const HOLD_MS = 600_000;

interface OwnWrite {
  readonly uid: string | undefined;
  /** Version that was written on. */
  readonly base: string | undefined;
  readonly atMs: number;
  /** The order that was written last, as text. */
  readonly order: string;
}

interface Contest {
  overwrittenMs: number[];
  heldUntilMs: number;
}

/** What we wrote ourselves, to know it from what others write. */
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

  /** Whether this is the object as it was before our last write: the informer hasn't heard of that yet. */
  isBase(key: string, { metadata }: KubernetesObject): boolean {
    const last = this.#writes.get(key);
    return last !== undefined && last.uid === metadata.uid && last.base === metadata.resourceVersion;
  }

  /** How long the next write has to wait to keep an interval from the last one. */
  waitMs(key: string, intervalMs: number): number {
    const last = this.#writes.get(key);
    return last === undefined ? 0 : Math.max(0, last.atMs + intervalMs - this.#clock.monotonic());
  }

  /** Whether another writer changes the order back again and again. To be asked once per intended write. */
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

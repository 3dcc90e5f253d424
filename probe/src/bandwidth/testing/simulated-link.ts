// A link in virtual time: token bucket, queue, delay, jitter, loss and other traffic.
import { ArrivalCondenser, type ArrivalBin } from "../arrivals.ts";
import { Burst, type BurstOutcome, type BurstRules } from "../burst.ts";

export interface LinkModel {
  readonly bitsPerSecond: number;
  readonly bucketBytes: number;
  readonly queueBytes: number;
  readonly lineBitsPerSecond?: number;
  readonly delayMs: number;
  readonly jitterMs?: number;
  readonly lossRatio?: number;
  readonly otherBitsPerSecond?: number;
  readonly otherFromMs?: number;
  readonly stall?: { readonly everyMs: number; readonly forMs: number };
  /** Offset of the receiver's clock, and its relative drift. */
  readonly clockOffsetMs?: number;
  readonly clockDrift?: number;
}

export const TEST_RULES: BurstRules = {
  maxBytes: 256e6,
  maxBitsPerSecond: 2e9,
  maxDurationMs: 1800,
  maxQueueMs: 25,
  roundTripMs: 0.2,
  unitBytes: 1514,
  probeBytes: 106,
};

export interface Simulation extends BurstOutcome {
  readonly otherLostBytes: number;
  readonly maxQueueMs: number;
}

const MS = 1e6;
const REPORT_NS = 2 * MS;
const STEP_NS = 20_000;
const LAST_NS = 20e9;

interface Arrival {
  readonly atNs: number;
  readonly sequence: number;
  readonly sendNs: number;
  readonly bytes: number;
}

/** Runs a burst over the link to its end. @param random uniform in [0, 1) */
export function simulate(model: LinkModel, random: () => number, rules = TEST_RULES): Simulation {
  const burst = new Burst(rules);
  const link = new Link(model, random);
  const receiver = new Receiver(link, model.delayMs);
  let ended = false;
  for (let nowNs = 1e9; nowNs < LAST_NS; nowNs += STEP_NS) {
    for (const bins of receiver.reportsUntil(nowNs)) burst.take(bins, nowNs);
    if (ended && receiver.isDone) break;
    if (!ended && !isStalled(model, nowNs)) ended = sendAt(nowNs, burst, link, rules);
  }
  return { ...burst.outcome(), otherLostBytes: link.otherLostBytes, maxQueueMs: link.maxQueueNs / MS };
}

function sendAt(nowNs: number, burst: Burst, link: Link, rules: BurstRules): boolean {
  let step = burst.next(nowNs);
  while (step.kind === "send") {
    const bytes = step.what === "probe" ? rules.probeBytes : rules.unitBytes;
    for (let i = 1; i <= step.units; i++) link.send(burst.lastSequence + i, nowNs, bytes);
    burst.sent(nowNs, step.what, step.units);
    step = burst.next(nowNs);
  }
  return step.kind === "end";
}

class Receiver {
  readonly #link: Link;
  readonly #delayNs: number;
  readonly #condenser = new ArrivalCondenser();
  readonly #reports: { readonly atNs: number; readonly bins: ArrivalBin[] }[] = [];
  #nextReportNs = 0;

  constructor(link: Link, delayMs: number) {
    this.#link = link;
    this.#delayNs = delayMs * MS;
  }

  get isDone(): boolean {
    return this.#link.idle && this.#reports.every(({ bins }) => bins.length === 0);
  }

  reportsUntil(nowNs: number): ArrivalBin[][] {
    for (const { atNs, sequence, sendNs, bytes } of this.#link.takeUntil(nowNs))
      this.#condenser.add(sequence, sendNs, this.#link.stamp(atNs), bytes, 0);
    if (nowNs >= this.#nextReportNs) {
      this.#condenser.closeOlderThan(this.#link.stamp(nowNs) - REPORT_NS);
      this.#reports.push({ atNs: nowNs + this.#delayNs, bins: this.#condenser.drain() });
      this.#nextReportNs = nowNs + REPORT_NS;
    }
    const due = this.#reports.findIndex(({ atNs }) => atNs > nowNs);
    return this.#reports.splice(0, due < 0 ? this.#reports.length : due).map(({ bins }) => bins);
  }
}

function isStalled({ stall }: LinkModel, nowNs: number): boolean {
  return stall !== undefined && (nowNs / MS) % stall.everyMs < stall.forMs;
}

class Link {
  readonly #model: LinkModel;
  readonly #random: () => number;
  readonly #arrivals: Arrival[] = [];
  #tokens: number;
  #tokensNs = 0;
  #freeNs = 0;
  #otherNs = 0;
  otherLostBytes = 0;
  maxQueueNs = 0;

  constructor(model: LinkModel, random: () => number) {
    this.#model = model;
    this.#random = random;
    this.#tokens = model.bucketBytes;
  }

  get idle(): boolean {
    return this.#arrivals.length === 0;
  }

  send(sequence: number, nowNs: number, bytes: number): void {
    this.#otherTraffic(nowNs);
    const { lossRatio = 0, delayMs } = this.#model;
    const leftNs = this.#pass(nowNs, bytes);
    if (leftNs === null || this.#random() < lossRatio) return;
    this.#arrivals.push({ atNs: leftNs + delayMs * MS, sequence, sendNs: nowNs, bytes });
  }

  takeUntil(nowNs: number): Arrival[] {
    const count = this.#arrivals.findIndex(({ atNs }) => atNs > nowNs);
    return this.#arrivals.splice(0, count < 0 ? this.#arrivals.length : count);
  }

  stamp(ns: number): number {
    const { clockOffsetMs = 0, clockDrift = 0, jitterMs = 0 } = this.#model;
    return ns * (1 + clockDrift) + (clockOffsetMs + jitterMs * this.#random()) * MS;
  }

  #otherTraffic(nowNs: number): void {
    const { otherBitsPerSecond = 0, otherFromMs = 0 } = this.#model;
    if (otherBitsPerSecond === 0) return;
    if (this.#otherNs === 0) this.#otherNs = nowNs + otherFromMs * MS;
    while (this.#otherNs <= nowNs) {
      if (this.#pass(this.#otherNs, 1514) === null) this.otherLostBytes += 1514;
      this.#otherNs += ((1514 * 8e9) / otherBitsPerSecond) * (0.5 + this.#random());
    }
  }

  #pass(nowNs: number, bytes: number): number | null {
    const { bitsPerSecond, bucketBytes, queueBytes, lineBitsPerSecond = 10e9 } = this.#model;
    const startNs = Math.max(nowNs, this.#freeNs);
    const waiting = ((startNs - nowNs) * bitsPerSecond) / 8e9;
    const tokens = Math.min(bucketBytes, this.#tokens + ((startNs - this.#tokensNs) * bitsPerSecond) / 8e9);
    const missingNs = (Math.max(0, bytes - tokens) * 8e9) / bitsPerSecond;
    if (missingNs > 0 && waiting + bytes > queueBytes) return null;
    this.#tokens = Math.max(0, tokens - bytes);
    this.#tokensNs = startNs + missingNs;
    this.#freeNs = startNs + Math.max(missingNs, (bytes * 8e9) / lineBitsPerSecond);
    this.maxQueueNs = Math.max(this.maxQueueNs, this.#freeNs - nowNs);
    return this.#freeNs;
  }
}

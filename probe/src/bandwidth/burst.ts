// The state machine of one bandwidth test: what to send when, and when to stop. No clock and no socket; the
// sender calls `next`, acts, and reports back. Phases:
//
// listen  a few small packets check for other traffic and measure the empty delay
// ramp    short steps double the rate until arrivals queue: the link is full
// hold    sends at link rate, steered to a small queue; the rate is estimated from this phase
import type { BandwidthResult } from "@isochrone/telemetry";
import { lastDelayNs, type ArrivalBin } from "./arrivals.ts";
import { estimateLink, type EstimateRules, type LinkEstimate } from "./estimate.ts";
import { Pacer } from "./pacer.ts";
import { judgeLight, judgeQuiet } from "./quiet.ts";
import { fullRun, fullShare, isKnee, isLosing, isPoliced, rateOf } from "./knee.ts";
import { Ramp } from "./ramp.ts";
import { SentLog } from "./sent-log.ts";
import { judgeEnd, judgeHold, judgeHosts, judgeSpent, type Verdict } from "./verdict.ts";

const MS = 1e6;
const OK: Verdict = { result: "ok", reason: "" };
const PROBES = 40;
const PROBE_GAP_NS = 10 * MS;
/** The target queue alternates between two depths, so that other traffic shows in the estimate. */
const TARGET_PERIOD_NS = 40 * MS;
const TARGET_PERIOD_UNITS = 48;
const LOW_QUEUE_NS = 5 * MS;
const HIGH_QUEUE_NS = 12 * MS;
/** Gain of the queue control: this much deviation changes the rate by its own size. */
const STEER_NS = 20 * MS;
const MIN_STEER = 0.5;
const MAX_STEER = 1.6;
/** Delay above the base that hosts alone do not cause. */
const MIN_TOLERANCE_NS = 1 * MS;
const MAX_TOLERANCE_NS = 4 * MS;
/** A policed link has no queue to steer by, so it gets slightly more than it passes. */
const POLICED_EXCESS = 1.15;
const CAPPED_NS = 200 * MS;
/** The first rate estimate may be wrong for this long. */
const SETTLE_NS = 60 * MS;
/** Maximum hold; then the estimate is judged as it is. */
const MAX_HOLD_NS = 800 * MS;
/**
 * A link that was full for less than MIN_FULL_SHARE of this time, despite more than its apparent rate, is
 * faster than it seemed.
 */
const FALSE_KNEE_NS = 100 * MS;
const MIN_FULL_SHARE = 0.25;
const MAX_FALSE_KNEES = 3;
/** Missing reports end the test after this time plus the round trip. */
const SILENCE_NS = 600 * MS;

export interface BurstRules {
  readonly maxBytes: number;
  readonly maxBitsPerSecond: number;
  readonly maxDurationMs: number;
  /** Maximum queue kept on the link, ms. @default 25 */
  readonly maxQueueMs: number;
  readonly roundTripMs: number;
  readonly unitBytes: number;
  readonly probeBytes: number;
}

export type BurstStep =
  /** Nothing to send before `untilNs`. */
  | { readonly kind: "wait"; readonly untilNs: number }
  | { readonly kind: "send"; readonly what: "probe" | "data"; readonly units: number }
  | { readonly kind: "end" };

export interface BurstOutcome {
  readonly result: BandwidthResult;
  readonly reason: string;
  readonly achievedBitsPerSecond: number | null;
  /** Limiting factor. With `rate_cap` and `sender` the link may be faster. Null without a rate. */
  readonly limit: "link" | "rate_cap" | "sender" | null;
  readonly estimate: LinkEstimate | null;
  readonly bytes: number;
  readonly durationMs: number;
}

type Phase = "probe" | "listen" | "ramp" | "hold" | "capped" | "ended";

export class Burst {
  readonly #rules: BurstRules;
  readonly #sent = new SentLog();
  readonly #bins: ArrivalBin[] = [];
  readonly #pacer = new Pacer();
  readonly #ramp: Ramp;
  #phase: Phase = "probe";
  #verdict: Verdict | null = null;
  #limit: "link" | "rate_cap" | "sender" = "link";
  #estimateRules: EstimateRules = { baseDelayNs: 0, toleranceNs: MIN_TOLERANCE_NS, policed: false };
  #fullFrom = 0;
  #rate = 0;
  #estimate: LinkEstimate | null = null;
  #firstDataNs = Number.NaN;
  #lastDataNs = Number.NaN;
  #phaseNs = Number.NaN;
  #lastReportNs = Number.NaN;
  #queueScale = 1;
  #falseKnees = 0;

  constructor(rules: BurstRules) {
    this.#rules = rules;
    this.#ramp = new Ramp(rules.maxBitsPerSecond, rules.unitBytes);
  }

  /** Returns the next action. `nowNs` is from the monotonic clock that stamps the units. */
  next(nowNs: number): BurstStep {
    if (Number.isNaN(this.#phaseNs)) this.#enter("probe", nowNs);
    if (this.#isSilent(nowNs))
      this.#endWith({ result: "error", reason: "the receiver's reports stayed away" });
    if (this.#phase === "probe") return this.#probe(nowNs);
    if (this.#phase === "listen") return this.#listen(nowNs);
    if (this.#phase === "ended") return { kind: "end" };
    if (this.#sent.bytes + 32 * this.#rules.unitBytes > this.#rules.maxBytes) {
      return this.#endWith(this.#phase === "capped" ? OK : judgeSpent(this.#estimate));
    }
    if (nowNs - this.#firstDataNs > this.#rules.maxDurationMs * MS)
      return this.#endWith(this.#phase === "capped" ? OK : judgeEnd(this.#estimate));
    return this.#phase === "ramp" ? this.#rampStep(nowNs) : this.#holdStep(nowNs);
  }

  sent(nowNs: number, what: "probe" | "data", units: number): void {
    const each = what === "probe" ? this.#rules.probeBytes : this.#rules.unitBytes;
    this.#sent.add(units, each);
    if (what === "probe") return;
    if (Number.isNaN(this.#firstDataNs)) this.#firstDataNs = nowNs;
    this.#lastDataNs = nowNs;
    this.#ramp.sent(units);
  }

  /** Records the receiver's report; bytes are on the wire. */
  take(bins: readonly ArrivalBin[], nowNs: number): void {
    if (bins.length === 0) return;
    this.#lastReportNs = nowNs;
    this.#bins.push(...bins);
    if (this.#phase === "ramp") this.#judgeRamp();
    if (this.#phase === "ramp" || this.#phase === "capped") this.#lookForKnee(nowNs);
    if (this.#phase === "hold") this.#judge(nowNs);
  }

  abort(result: "skipped_busy" | "error", reason: string): void {
    this.#endWith({ result, reason });
  }

  get lastSequence(): number {
    return this.#sent.units - 1;
  }

  get bytes(): number {
    return this.#sent.bytes;
  }

  outcome(): BurstOutcome {
    const estimate = this.#finalEstimate();
    let verdict = this.#verdict ?? { result: "error" as const, reason: "the test didn't end" };
    if (verdict.result === "ok" && this.#limit !== "link")
      verdict = judgeHosts(estimate, this.#limit === "sender");
    const achieved = verdict.result === "ok" ? (estimate?.bitsPerSecond ?? null) : null;
    return {
      ...verdict,
      achievedBitsPerSecond: achieved,
      limit: achieved === null ? null : this.#limit,
      estimate,
      bytes: this.#sent.bytes,
      durationMs: Number.isNaN(this.#firstDataNs) ? 0 : (this.#lastDataNs - this.#firstDataNs) / MS,
    };
  }

  #probe(nowNs: number): BurstStep {
    const i = this.#sent.units;
    if (i === PROBES) {
      this.#enter("listen", nowNs);
      return this.#listen(nowNs);
    }
    // Spaced evenly but never in step with a periodic source.
    const dueNs = this.#phaseNs + PROBE_GAP_NS * (i + 0.8 * ((i * 0.618_034) % 1));
    return nowNs < dueNs ? { kind: "wait", untilNs: dueNs } : { kind: "send", what: "probe", units: 1 };
  }

  #listen(nowNs: number): BurstStep {
    const all = (this.#bins.at(-1)?.lastSequence ?? -1) === PROBES - 1;
    const untilNs = this.#phaseNs + (100 + 2 * this.#rules.roundTripMs) * MS;
    if (!all && nowNs < untilNs) return { kind: "wait", untilNs: Math.min(untilNs, nowNs + MS) };
    if (this.#bins.length === 0)
      return this.#endWith({ result: "error", reason: "none of the small packets arrived" });
    const quiet = judgeQuiet(this.#bins, PROBES, this.#rules.roundTripMs);
    if (quiet.busy !== null)
      return this.#endWith({ result: "skipped_busy", reason: `before the burst ${quiet.busy}` });
    const toleranceNs = Math.min(MAX_TOLERANCE_NS, Math.max(MIN_TOLERANCE_NS, 3 * quiet.noiseNs));
    this.#estimateRules = { ...this.#estimateRules, baseDelayNs: quiet.baseDelayNs, toleranceNs };
    this.#enter("ramp", nowNs);
    this.#fullFrom = this.#bins.length;
    this.#ramp.start(nowNs, this.#sent.units);
    return this.#rampStep(nowNs);
  }

  #rampStep(nowNs: number): BurstStep {
    const reported = this.#bins.at(-1)?.lastSequence ?? -1;
    const state = this.#ramp.advance(nowNs, reported, this.#rules.maxBytes - this.#sent.bytes);
    if (state === "too_dear") return this.#endWith(judgeSpent(this.#estimate));
    if (state === "waiting") return { kind: "wait", untilNs: nowNs + MS / 2 };
    if (state === "rate_cap" || state === "sender") {
      this.#limit = state;
      this.#rate = this.#ramp.bitsPerSecond;
      this.#fullFrom = this.#bins.length;
      this.#enter("capped", nowNs);
    }
    return this.#paced(nowNs, this.#ramp.bitsPerSecond);
  }

  #holdStep(nowNs: number): BurstStep {
    const heldNs = nowNs - this.#phaseNs;
    if (this.#phase === "capped")
      return heldNs > CAPPED_NS ? this.#endWith(OK) : this.#paced(nowNs, this.#rate);
    if (heldNs > MAX_HOLD_NS) return this.#endWith(judgeEnd(this.#estimate));
    if (this.#estimateRules.policed) return this.#paced(nowNs, this.#rate * POLICED_EXCESS);
    const queueNs = this.#queueNs(nowNs);
    if (queueNs > this.#rules.maxQueueMs * MS) return { kind: "wait", untilNs: nowNs + MS / 2 };
    const steer = 1 + (this.#targetNs(nowNs) - queueNs) / STEER_NS;
    return this.#paced(nowNs, this.#rate * Math.min(MAX_STEER, Math.max(MIN_STEER, steer)));
  }

  #targetNs(nowNs: number): number {
    // On a slow link a few units fill the queue, and steering takes longer.
    const unitNs = (this.#rules.unitBytes * 8e9) / this.#rate;
    const periodNs = Math.max(TARGET_PERIOD_NS, TARGET_PERIOD_UNITS * unitNs);
    const high = (nowNs - this.#phaseNs) % periodNs < periodNs / 2;
    const floor = this.#estimateRules.toleranceNs + 3 * unitNs;
    const target = Math.max(floor, LOW_QUEUE_NS) + (high ? HIGH_QUEUE_NS - LOW_QUEUE_NS : 0);
    return Math.min(target * this.#queueScale, 0.8 * this.#rules.maxQueueMs * MS);
  }

  #queueNs(nowNs: number): number {
    const last = this.#bins.at(-1);
    if (last === undefined) return 0;
    const waited = Math.max(0, lastDelayNs(last) - this.#estimateRules.baseDelayNs);
    const addedNs = (this.#sent.bytesAfter(last.lastSequence) * 8e9) / this.#rate;
    return Math.max(0, waited + addedNs - (nowNs - last.lastSendNs));
  }

  #paced(nowNs: number, bitsPerSecond: number): BurstStep {
    const rate = Math.min(bitsPerSecond, this.#rules.maxBitsPerSecond);
    const { units, untilNs } = this.#pacer.next(nowNs, rate, this.#rules.unitBytes);
    return units === 0 ? { kind: "wait", untilNs } : { kind: "send", what: "data", units };
  }

  /** Units sent at a quarter of the rate cannot have filled the link. */
  #judgeRamp(): void {
    const before = this.#ramp.lightBefore;
    const light = this.#bins.filter(({ lastSequence }) => lastSequence >= PROBES && lastSequence < before);
    const busy = judgeLight(light, this.#estimateRules.baseDelayNs, this.#rules.roundTripMs);
    if (busy !== null) this.#endWith({ result: "skipped_busy", reason: busy });
  }

  #lookForKnee(nowNs: number): void {
    const recent = this.#bins.slice(this.#fullFrom);
    const run = fullRun(recent, this.#estimateRules);
    if (isKnee(run)) this.#holdFrom(nowNs, this.#bins.length - run.length, rateOf(run), false);
    else if (isPoliced(recent.slice(-40))) {
      const dropping = recent.slice(-40);
      this.#holdFrom(nowNs, this.#bins.length - 1, rateOf(dropping), true);
    }
  }

  #holdFrom(nowNs: number, index: number, bitsPerSecond: number, policed: boolean): void {
    this.#estimateRules = { ...this.#estimateRules, policed };
    this.#fullFrom = index;
    this.#limit = "link";
    this.#rate = Math.min(bitsPerSecond, this.#ramp.bitsPerSecond);
    this.#enter("hold", nowNs);
  }

  #judge(nowNs: number): void {
    if (!this.#estimateRules.policed && this.#isFalseKnee(nowNs)) {
      if (++this.#falseKnees > MAX_FALSE_KNEES) {
        this.#endWith(judgeEnd(this.#estimate));
        return;
      }
      this.#enter("ramp", nowNs);
      this.#ramp.start(nowNs, this.#sent.units);
      return;
    }
    if (this.#isQueueOthers()) {
      const reason = `delays rose above ${2 * this.#rules.maxQueueMs} ms by others' packets`;
      this.#endWith({ result: "skipped_busy", reason });
      return;
    }
    const estimate = estimateLink(this.#bins.slice(this.#fullFrom), this.#estimateRules);
    if (estimate === null) return;
    this.#estimate = estimate;
    this.#rate = estimate.bitsPerSecond;
    this.#spareShallowQueues();
    const heldMs = (nowNs - this.#phaseNs) / MS;
    const verdict = judgeHold(estimate, heldMs, this.#estimateRules.policed);
    if (verdict !== null) this.#endWith(verdict);
  }

  #isFalseKnee(nowNs: number): boolean {
    if (nowNs - this.#phaseNs < FALSE_KNEE_NS + 2 * this.#rules.roundTripMs * MS) return false;
    const share = fullShare(this.#bins, this.#estimateRules, FALSE_KNEE_NS);
    return share !== null && share < MIN_FULL_SHARE;
  }

  /** Pauses when the predicted queue exceeds the limit; a queue of twice the limit is other traffic. */
  #isQueueOthers(): boolean {
    const last = this.#bins.at(-1);
    if (last === undefined || last.lastSendNs < this.#phaseNs + SETTLE_NS) return false;
    return lastDelayNs(last) - this.#estimateRules.baseDelayNs > 2 * this.#rules.maxQueueMs * MS;
  }

  /** Limits the target to half of a queue that overflows below it. */
  #spareShallowQueues(): void {
    const last = this.#bins.at(-1);
    const policed = this.#estimateRules.policed;
    if (last === undefined || last.lost <= last.overflowed || policed || !isLosing(this.#bins.slice(-10)))
      return;
    const depthNs = lastDelayNs(last) - this.#estimateRules.baseDelayNs;
    this.#queueScale = Math.max(0.2, Math.min(this.#queueScale, (0.5 * depthNs) / HIGH_QUEUE_NS));
  }

  #finalEstimate(): LinkEstimate | null {
    // Only what was judged, not what arrived later.
    if (this.#limit === "link") return this.#estimate;
    const bins = this.#bins.slice(this.#fullFrom);
    return estimateLink(bins, { ...this.#estimateRules, toleranceNs: Number.NEGATIVE_INFINITY });
  }

  #isSilent(nowNs: number): boolean {
    if (this.#phase === "probe" || this.#phase === "listen" || this.#phase === "ended") return false;
    return nowNs - this.#lastReportNs > SILENCE_NS + this.#rules.roundTripMs * MS;
  }

  #enter(phase: Phase, nowNs: number): void {
    this.#phase = phase;
    this.#phaseNs = nowNs;
  }

  #endWith(verdict: Verdict): BurstStep {
    if (this.#phase !== "ended") this.#verdict = verdict;
    this.#phase = "ended";
    return { kind: "end" };
  }
}

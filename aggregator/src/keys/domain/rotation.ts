import type { KeyReport } from "./key-reports.ts";

const MAX_KEY_ID = 65_535;

interface KeyFacts {
  readonly id: number;
  /** Unix ms; null: created elsewhere. */
  readonly createdAtMs: number | null;
}

/** The keys that probes read, oldest first. */
export interface KeyringFacts {
  readonly keys: readonly KeyFacts[];
  readonly signingKeyId: number;
}

export interface AwaitedProbe {
  readonly node: string;
  /** Null: no report yet. */
  readonly report: KeyReport | null;
}

export interface RotationRule {
  readonly rotationMs: number;
  /** Maximum wait of a step for confirmations. */
  readonly confirmMs: number;
  /** Retention of the old key, so that packets in flight can be verified. */
  readonly graceMs: number;
  /** Minimum time in which a new key only verifies, for readers that do not report. @default 0 */
  readonly settleMs?: number;
}

/** Wall time for key ages, which outlive the process; monotonic time for waits. */
interface RotationTime {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Next step; `unconfirmed` are nodes whose probes did not confirm in time. */
export type RotationStep =
  | { readonly kind: "wait"; readonly awaited: readonly string[] }
  /** Add a key that only verifies; the first key signs. */
  | { readonly kind: "publish"; readonly keyId: number }
  | { readonly kind: "sign"; readonly keyId: number; readonly unconfirmed: readonly string[] }
  | { readonly kind: "retire"; readonly keptKeyId: number; readonly unconfirmed: readonly string[] };

const NOTHING: RotationStep = { kind: "wait", awaited: [] };

/**
 * Replaces keys without losing a packet:
 *
 *     one key  --old enough-->  + next, which only verifies
 *              --all probes hold it-->  next signs
 *              --all probes sign with it, and packets in flight have arrived-->  the old one goes
 *
 * The state follows from the keys, so a restarted or other replica continues. Only waits start again.
 */
export class KeyRotation {
  readonly #rule: RotationRule;
  #stage = "";
  #stageSinceMs = 0;
  #confirmedSinceMs: number | null = null;

  constructor(rule: RotationRule) {
    this.#rule = rule;
  }

  /** @param ring null: there are no keys yet */
  next(ring: KeyringFacts | null, probes: readonly AwaitedProbe[], time: RotationTime): RotationStep {
    const newest = ring?.keys.at(-1);
    if (ring === null || newest === undefined) return { kind: "publish", keyId: 1 };
    this.#enter(`${ring.keys.map(({ id }) => id).join()};${ring.signingKeyId}`, time.monotonicMs);
    if (ring.signingKeyId !== newest.id) return this.#switchTo(newest.id, probes, time);
    if (ring.keys.length > 1) return this.#retireAllBut(newest.id, probes, time);
    return this.#isOld(newest, time) ? { kind: "publish", keyId: freeKeyId(ring.keys) } : NOTHING;
  }

  #enter(stage: string, nowMs: number): void {
    if (stage === this.#stage) return;
    this.#stage = stage;
    this.#stageSinceMs = nowMs;
    this.#confirmedSinceMs = null;
  }

  #switchTo(keyId: number, probes: readonly AwaitedProbe[], { monotonicMs }: RotationTime): RotationStep {
    const awaited = nodesWithout(probes, ({ heldKeyIds }) => heldKeyIds.includes(keyId));
    const { confirmMs, settleMs = 0 } = this.#rule;
    const waitedMs = this.#waitedMs(monotonicMs);
    return waitedMs >= settleMs && (awaited.length === 0 || waitedMs >= confirmMs)
      ? { kind: "sign", keyId, unconfirmed: awaited }
      : { kind: "wait", awaited };
  }

  #retireAllBut(keyId: number, probes: readonly AwaitedProbe[], { monotonicMs }: RotationTime): RotationStep {
    const { confirmMs, graceMs } = this.#rule;
    const awaited = nodesWithout(probes, ({ signingKeyId }) => signingKeyId === keyId);
    if (awaited.length > 0) this.#confirmedSinceMs = null;
    else this.#confirmedSinceMs ??= monotonicMs;
    const isConfirmed = this.#confirmedSinceMs !== null && monotonicMs - this.#confirmedSinceMs >= graceMs;
    return isConfirmed || this.#waitedMs(monotonicMs) >= confirmMs + graceMs
      ? { kind: "retire", keptKeyId: keyId, unconfirmed: awaited }
      : { kind: "wait", awaited };
  }

  /** Uses the longer of wall-clock age and observed time, because a clock may be set back. */
  #isOld({ createdAtMs }: KeyFacts, { wallMs, monotonicMs }: RotationTime): boolean {
    const { rotationMs } = this.#rule;
    const ageMs = createdAtMs === null ? 0 : wallMs - createdAtMs;
    return rotationMs > 0 && Math.max(ageMs, this.#waitedMs(monotonicMs)) >= rotationMs;
  }

  #waitedMs(monotonicMs: number): number {
    return monotonicMs - this.#stageSinceMs;
  }
}

/** Next key id; wraps around after 65535. */
function freeKeyId(keys: readonly KeyFacts[]): number {
  const used = new Set(keys.map(({ id }) => id));
  let id = keys.at(-1)!.id;
  do id = (id % MAX_KEY_ID) + 1;
  while (used.has(id));
  return id;
}

function nodesWithout(
  probes: readonly AwaitedProbe[],
  confirms: (report: KeyReport) => boolean,
): readonly string[] {
  return probes.filter(({ report }) => report === null || !confirms(report)).map(({ node }) => node);
}

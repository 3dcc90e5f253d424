import type { Leadership } from "@isochrone/kubernetes";
import { periodic, Secret, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { KeyRotation, type AwaitedProbe, type RotationRule, type RotationStep } from "./domain/rotation.ts";
import { AggregatorError, KeyStoreError } from "../ports/errors.ts";
import type { HmacKeySet, KeyStore, StoredKeys } from "../ports/ports.ts";

/** The output length of SHA-256; a longer key adds no strength. */
const SECRET_BYTES = 32;
const MAX_NAMED = 20;

export interface KeyKeeperOptions {
  /** For log lines. @default "probe keys" */
  readonly subject?: string;
  readonly store: KeyStore;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rule: RotationRule;
  readonly checkMs: number;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Probes that steps wait for; null while the cluster is unknown. */
  readonly probes: () => readonly AwaitedProbe[] | null;
}

interface KeyCounts {
  rotations: number;
  unconfirmed: number;
  readFailures: number;
  writeFailures: number;
  conflicts: number;
}

export function storeFailures({
  readFailures,
  writeFailures,
  conflicts,
}: Pick<KeyCounts, "readFailures" | "writeFailures" | "conflicts">): (readonly [
  { readonly reason: string },
  number,
])[] {
  return [
    [{ reason: "read" }, readFailures],
    [{ reason: "write" }, writeFailures],
    [{ reason: "conflict" }, conflicts],
  ];
}

/** Creates and rotates keys. Every replica reads them; the leader writes them. */
export class KeyKeeper implements Service {
  readonly counts: KeyCounts = {
    rotations: 0,
    unconfirmed: 0,
    readFailures: 0,
    writeFailures: 0,
    conflicts: 0,
  };
  readonly #options: KeyKeeperOptions;
  readonly #rotation: KeyRotation;
  readonly #loop: Periodic;
  readonly #subject: string;
  #stored: StoredKeys | null = null;
  #awaited: readonly string[] = [];

  constructor(options: KeyKeeperOptions) {
    const { clock, checkMs, logger, rule } = options;
    this.#options = options;
    this.#subject = options.subject ?? "probe keys";
    this.#rotation = new KeyRotation(rule);
    this.#loop = periodic({
      clock,
      intervalMs: checkMs,
      run: () => this.check(),
      onError: (error) => logger.error(`looking after ${this.#subject} failed`, { error }),
    });
  }

  /** @throws AggregatorError `keys_not_read` before the first read: a guess could silence all probes */
  get signingKeyId(): number {
    const set = this.#stored?.set ?? null;
    if (set === null)
      throw new AggregatorError("keys_not_read", "the keys of probe packets haven't been read yet");
    return set.signingKeyId;
  }

  get isReady(): boolean {
    return (this.#stored?.set ?? null) !== null;
  }

  /** Last read keys; null: not read yet or none. The same object while unchanged. */
  get set(): HmacKeySet | null {
    return this.#stored?.set ?? null;
  }

  get keys(): number {
    return this.#stored?.set?.keys.length ?? 0;
  }

  get awaited(): readonly string[] {
    return this.#awaited;
  }

  async start(): Promise<void> {
    await this.check();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Reads the store and runs at most one rotation step. Never rejects. */
  async check(): Promise<void> {
    // Always called, because it also forgets removed nodes.
    const probes = this.#options.probes();
    this.#awaited = [];
    if (!(await this.#read()) || !this.#options.leadership.isLeader()) return;
    const { clock } = this.#options;
    const set = this.#stored?.set ?? null;
    // The first key needs no confirmation; every other step needs a known cluster.
    if (probes === null && set !== null) return;
    const time = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    const step = this.#rotation.next(set, probes ?? [], time);
    if (step.kind === "wait") this.#awaited = step.awaited;
    else await this.#take(step, set);
  }

  async #read(): Promise<boolean> {
    try {
      const read = await this.#options.store.read();
      if (read.revision === null || read.revision !== this.#stored?.revision) this.#stored = read;
      return true;
    } catch (error) {
      this.counts.readFailures += 1;
      this.#options.logger.warnOnce(
        `keys-read:${this.#subject}`,
        `${this.#subject} can't be read; its last content stays in use`,
        { error },
      );
      return false;
    }
  }

  async #take(step: Exclude<RotationStep, { kind: "wait" }>, before: HmacKeySet | null): Promise<void> {
    const { store, logger } = this.#options;
    const set = this.#apply(step, before);
    try {
      const revision = await store.write(set, this.#stored?.revision ?? null);
      this.#stored = { set, revision };
    } catch (error) {
      if (error instanceof KeyStoreError && error.code === "key_store_conflict") this.counts.conflicts += 1;
      else this.counts.writeFailures += 1;
      logger.warnOnce(`keys-write:${this.#subject}`, `${this.#subject} not written; trying again`, { error });
      return;
    }
    if (step.kind === "retire") this.counts.rotations += 1;
    logger.info(`${this.#subject}: ${step.kind}`, {
      signingKeyId: set.signingKeyId,
      keyIds: set.keys.map(({ id }) => id),
    });
    if (step.kind !== "publish") this.#tellUnconfirmed(step.kind, step.unconfirmed);
  }

  #apply(step: Exclude<RotationStep, { kind: "wait" }>, before: HmacKeySet | null): HmacKeySet {
    const keys = before?.keys ?? [];
    switch (step.kind) {
      case "publish": {
        const secret = new Secret(Buffer.from(this.#options.randomBytes(SECRET_BYTES)).toString("base64"));
        const key = { id: step.keyId, createdAtMs: this.#options.clock.now(), secret };
        return { keys: [...keys, key], signingKeyId: before?.signingKeyId ?? step.keyId };
      }
      case "sign":
        return { keys, signingKeyId: step.keyId };
      case "retire":
        return { keys: keys.filter(({ id }) => id === step.keptKeyId), signingKeyId: step.keptKeyId };
      default:
        return step satisfies never;
    }
  }

  #tellUnconfirmed(step: "sign" | "retire", nodes: readonly string[]): void {
    if (nodes.length === 0) return;
    this.counts.unconfirmed += nodes.length;
    this.#options.logger.warn("probes did not confirm a key in time; continuing without them", {
      step,
      count: nodes.length,
      nodes: nodes.slice(0, MAX_NAMED),
    });
  }
}

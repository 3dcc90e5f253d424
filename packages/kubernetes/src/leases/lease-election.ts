import { pause, withDeadline } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";

import { isStoreError } from "../store/errors.ts";
import { createInformer } from "../store/informer.ts";
import type { Informer } from "../store/informer.ts";
import { checkElectionOptions, ELECTION_DEFAULTS } from "./lease-options.ts";
import type { ElectionTiming } from "./lease-options.ts";
import { heldLease, microTime, readLease, releasedLease } from "./lease-record.ts";
import type { LeaseHolder, LeaseRecord } from "./lease-record.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject, ObjectRef } from "../store/port.ts";

export interface LeaderElectionOptions extends Partial<ElectionTiming> {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly namespace: string;
  readonly name: string;
  /** Identity, unique to this candidate's lifetime; never reused. */
  readonly identity: string;
  /** Holder's address, written with the lease and read at every write. @default none */
  readonly url?: () => string | null;
  readonly labels?: Readonly<Record<string, string>>;
  readonly onStartedLeading?: () => void;
  readonly onStoppedLeading?: () => void;
  /** The leader changed. Null: nobody leads. */
  readonly onNewHolder?: (holder: LeaseHolder | null) => void;
}

export interface LeaderElection {
  start(): void;
  /** Stops leading and releases the lease. Nothing that needs the lease may still run. */
  stop(): Promise<void>;
  /**
   * Whether this candidate leads. False once the renew deadline has passed, when no other candidate can hold
   * the lease yet.
   */
  isLeader(): boolean;
  /** Length of the current term, ms. Null: not leading. */
  leadingForMs(): number | null;
  holder(): LeaseHolder | null;
}

interface Observation {
  readonly record: LeaseRecord;
  readonly changedMs: number;
}

/** Share of the renew deadline for one renewal, so that a hanging one leaves time for another. */
const RENEWAL_SHARE = 0.5;
/** Candidates without a watch retry after up to 2.2 retry periods, as in client-go. */
const CANDIDATE_JITTER = 1.2;

/**
 * Follows client-go's leader election. A candidate takes over after seeing no change for the lease duration
 * on its own monotonic clock. At most one leads while monotonic clocks agree within leaseDurationMs /
 * renewDeadlineMs: the holder counts from before sending a renewal, others from after seeing it. Watching
 * candidates read before taking, so a silent watch costs no safety. Deleting the Lease voids this for new
 * candidates.
 */
export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const election = { ...ELECTION_DEFAULTS, ...options };
  checkElectionOptions(election);
  return new LeaseCandidate(election);
}

class LeaseCandidate implements LeaderElection {
  readonly #options: LeaderElectionOptions & ElectionTiming;
  readonly #ref: ObjectRef;
  readonly #stop = new AbortController();
  #attempt = new AbortController();
  #running: Promise<void> | null = null;
  #observed: Observation | null = null;
  /** The Lease as last written. Null: it must be read first. */
  #own: KubernetesObject | null = null;
  /** End of the last renewal's validity, on the monotonic clock. */
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #termSinceMs = 0;
  #deadline = new AbortController();
  /** Watches while another candidate holds the lease. */
  #watch: Informer | null = null;
  #wake = new AbortController();
  #writes = 0;
  #toldLeading = false;
  #toldHolder: string | null = null;

  constructor(options: LeaderElectionOptions & ElectionTiming) {
    this.#options = options;
    this.#ref = { ...KINDS.lease, namespace: options.namespace, name: options.name };
  }

  isLeader(): boolean {
    return this.#options.clock.monotonic() < this.#validUntilMs;
  }

  leadingForMs(): number | null {
    return this.isLeader() ? this.#options.clock.monotonic() - this.#termSinceMs : null;
  }

  holder(): LeaseHolder | null {
    const { identity } = this.#options;
    if (this.isLeader()) return { identity, url: this.#url() };
    const holder = this.#observed?.record.holder ?? null;
    return holder === null || holder.identity === identity || !this.#isHeld() ? null : holder;
  }

  start(): void {
    if (!this.#stop.signal.aborted) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#attempt.abort();
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    this.#deadline.abort();
    this.#tell();
    await this.#running;
    await this.#unwatch();
    if (this.#writes > 0) await this.#release();
  }

  async #run(): Promise<void> {
    const { clock, random, retryPeriodMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const beganMs = clock.monotonic();
      await this.#tryInTime();
      this.#tell();
      const jitter = this.isLeader() ? 0 : CANDIDATE_JITTER * random.next();
      // From start to start, so that a slow store doesn't consume the holder's time.
      const dueMs = beganMs + retryPeriodMs * (1 + jitter);
      if (this.isLeader()) void this.#unwatch();
      else if (this.#isHeldByAnother()) this.#follow();
      await pause(clock, Math.max(0, dueMs - clock.monotonic()), signal);
      await this.#whileAnotherIsSeenToHold(signal);
    }
  }

  #follow(): void {
    if (this.#watch !== null) return;
    const { store, clock, random, logger, namespace, name } = this.#options;
    const fields = { "metadata.name": name };
    // Short-lived: its silence means nothing.
    const observer = {};
    const from = { store, clock, random, logger, observer };
    this.#watch = createInformer({ ...from, kind: KINDS.lease, namespace, fields });
    this.#watch.onChange(({ type, object }) => {
      if (type === "deleted") return;
      this.#observe(object);
      if (!this.#isHeldByAnother()) this.#wake.abort();
      this.#tell();
    });
  }

  async #unwatch(): Promise<void> {
    const watch = this.#watch;
    this.#watch = null;
    await watch?.stop();
  }

  /** Waits while another candidate holds the lease. Returns at once if it can't be watched. */
  async #whileAnotherIsSeenToHold(signal: AbortSignal): Promise<void> {
    const { clock, namespace, name } = this.#options;
    while (
      !signal.aborted &&
      (this.#watch?.get(name, namespace) ?? null) !== null &&
      this.#isHeldByAnother()
    ) {
      this.#wake = new AbortController();
      const waitMs = this.#heldUntilMs() - clock.monotonic();
      await pause(clock, Math.max(0, waitMs), AbortSignal.any([signal, this.#wake.signal]));
    }
    this.#tell();
  }

  /** Tries to take or renew the lease. Never rejects, and ends by the renew deadline. */
  async #tryInTime(): Promise<void> {
    const { clock, logger, name, renewDeadlineMs } = this.#options;
    const limitMs = this.isLeader() ? renewDeadlineMs * RENEWAL_SHARE : renewDeadlineMs;
    const attempt = new AbortController();
    this.#attempt = attempt;
    try {
      await withDeadline(clock, limitMs, `renewal of lease ${name}`, () =>
        Promise.race([this.#tryAcquireOrRenew(attempt.signal), abortionOf(attempt.signal)]),
      );
    } catch (error) {
      // Another candidate was faster; the next attempt sees its write.
      if (isStoreError(error, "conflict") || isStoreError(error, "already_exists")) return;
      if (this.#stop.signal.aborted) return;
      logger.warnOnce(`lease:${name}`, "lease neither taken nor renewed, trying again", {
        lease: name,
        error,
      });
    } finally {
      // A call that hangs in the store must have no effect later.
      attempt.abort();
    }
  }

  async #tryAcquireOrRenew(signal: AbortSignal): Promise<void> {
    if (this.#own !== null && this.isLeader() && (await this.#renewKnown(this.#own, signal))) return;
    const stored = await this.#options.store.get(this.#ref);
    signal.throwIfAborted();
    if (stored === null) {
      this.#own = null;
      // Its holder still relies on a deleted lease.
      if (!this.#isHeldByAnother()) await this.#write(null, signal);
      return;
    }
    this.#observe(stored);
    if (!this.#isHeldByAnother()) await this.#write(stored, signal);
  }

  /** Renews without reading, to save a request. Returns false if the lease must be read. */
  async #renewKnown(own: KubernetesObject, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#write(own, signal);
      return true;
    } catch (error) {
      if (!isStoreError(error, "conflict") && !isStoreError(error, "not_found")) throw error;
      this.#own = null;
      return false;
    }
  }

  async #write(stored: KubernetesObject | null, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options;
    const sentMs = clock.monotonic();
    const { namespace, name, labels = {}, identity, leaseDurationMs: durationMs } = this.#options;
    const base = stored ?? { ...KINDS.lease, metadata: { namespace, name } };
    const next = heldLease(base, { identity, url: this.#url(), durationMs, labels }, this.#stamp());
    const written = await (stored === null ? store.create(next) : store.update(next));
    // After the deadline an answer counts as lost; the next attempt reads the result.
    signal.throwIfAborted();
    this.#observe(written);
    this.#own = written;
    this.#renewed(sentMs);
  }

  #renewed(sentMs: number): void {
    const { clock, renewDeadlineMs } = this.#options;
    // A late renewal starts a new term, although nobody else led.
    if (!this.isLeader()) {
      if (this.#toldLeading) this.#tell();
      this.#termSinceMs = clock.monotonic();
    }
    this.#validUntilMs = sentMs + renewDeadlineMs;
    this.#deadline.abort();
    this.#deadline = new AbortController();
    void this.#tellAtDeadline(this.#deadline.signal);
  }

  async #tellAtDeadline(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await pause(clock, this.#validUntilMs - clock.monotonic(), signal);
    if (!signal.aborted) this.#tell();
  }

  async #release(): Promise<void> {
    const { store, clock, logger, name, identity, retryPeriodMs } = this.#options;
    try {
      await withDeadline(clock, retryPeriodMs, `release of lease ${name}`, async (signal) => {
        const stored = await store.get(this.#ref);
        signal.throwIfAborted();
        if (stored === null || readLease(stored).holder?.identity !== identity) return;
        await store.update(releasedLease(stored, this.#stamp()));
      });
    } catch (error) {
      logger.warn("lease not released; others wait until it ends", { lease: name, error });
    }
  }

  #observe(lease: KubernetesObject): void {
    const record = readLease(lease);
    if (record.fingerprint !== this.#observed?.record.fingerprint)
      this.#observed = { record, changedMs: this.#options.clock.monotonic() };
  }

  #isHeldByAnother(): boolean {
    const holder = this.#observed?.record.holder ?? null;
    return holder !== null && holder.identity !== this.#options.identity && this.#isHeld();
  }

  #isHeld(): boolean {
    return this.#options.clock.monotonic() < this.#heldUntilMs();
  }

  #heldUntilMs(): number {
    if (this.#observed === null) return Number.NEGATIVE_INFINITY;
    const { record, changedMs } = this.#observed;
    return changedMs + (record.durationMs ?? this.#options.leaseDurationMs);
  }

  #url(): string | null {
    return this.#options.url?.() ?? null;
  }

  #stamp(): string {
    this.#writes += 1;
    return microTime(this.#options.clock.now(), this.#writes);
  }

  #tell(): void {
    const { onStartedLeading, onStoppedLeading, onNewHolder, identity, logger, name } = this.#options;
    const leads = this.isLeader();
    if (leads !== this.#toldLeading) {
      this.#toldLeading = leads;
      logger.info(leads ? "lease taken" : "lease no longer held", { lease: name, identity });
      this.#call(leads ? onStartedLeading : onStoppedLeading);
    }
    const holder = this.holder();
    if ((holder?.identity ?? null) === this.#toldHolder) return;
    this.#toldHolder = holder?.identity ?? null;
    this.#call(() => onNewHolder?.(holder));
  }

  /** Listeners' errors don't affect the election. */
  #call(listener: (() => void) | undefined): void {
    try {
      listener?.();
    } catch (error) {
      this.#options.logger.error("lease listener failed", { lease: this.#options.name, error });
    }
  }
}

/** Rejects with the signal's reason; never resolves. */
function abortionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

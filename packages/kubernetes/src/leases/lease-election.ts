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

/** How an election is built. */
export interface LeaderElectionOptions extends Partial<ElectionTiming> {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Of the Lease object, which all candidates name alike. */
  readonly namespace: string;
  readonly name: string;
  /** Of this life of this candidate: no other one, and no later life of the same, may have it. */
  readonly identity: string;
  /** Where the holder can be reached, written beside the lease; asked with every write. @default none */
  readonly url?: () => string | null;
  /** Written onto the Lease object. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly onStartedLeading?: () => void;
  readonly onStoppedLeading?: () => void;
  /** Who leads is another one than before, or nobody (null). */
  readonly onNewHolder?: (holder: LeaseHolder | null) => void;
}

/** One of several candidates for a Lease. */
export interface LeaderElection {
  /** Begins to be a candidate. */
  start(): void;
  /**
   * Stops leading, then gives the lease up so that others need not wait. Nothing that needs the lease may
   * still be under way.
   */
  stop(): Promise<void>;
  /**
   * Whether this candidate may act as the one. False as soon as the renew deadline has passed, whatever else
   * could not run meanwhile: nobody else can be the holder yet at that time.
   */
  isLeader(): boolean;
  /** How long the current term has lasted, ms; null when this candidate does not lead. */
  leadingForMs(): number | null;
  /** Who leads as far as is known: this candidate or another one. */
  holder(): LeaseHolder | null;
}

/** What was last seen of the Lease, and when it changed, on the monotonic clock. */
interface Observation {
  readonly record: LeaseRecord;
  readonly changedMs: number;
}

/** A renewal's share of the renew deadline: one that hangs leaves time for another. */
const RENEWAL_SHARE = 0.5;
/** Candidates that can't watch the lease come back after up to 2.2 retry periods, as those of client-go. */
const CANDIDATE_JITTER = 1.2;

/**
 * Elections by a coordination.k8s.io/v1 Lease with the semantics of client-go's leaderelection. A candidate
 * takes over when it has seen no change of the lease for its duration on its own monotonic clock; the times
 * that are written are for people. While another one holds the lease, a candidate watches it and asks for
 * nothing; it reads the lease before it takes it, so a watch that has fallen silent costs a request per lease
 * duration and no safety.
 *
 * No two lead at one time, as long as monotonic clocks run equally fast within leaseDurationMs /
 * renewDeadlineMs: a holder counts its deadline from before the renewal was sent, another candidate counts
 * the duration from after it has seen that renewal. (Who deletes a Lease object under its holder takes that
 * away, for candidates that had never seen it.)
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
  /** Of the attempt under way. */
  #attempt = new AbortController();
  #running: Promise<void> | null = null;
  #observed: Observation | null = null;
  /** As this candidate wrote it last; null: it must be read first. */
  #own: KubernetesObject | null = null;
  /** Monotonic; the end of what the last renewal gave. */
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #termSinceMs = 0;
  #deadline = new AbortController();
  /** Follows the lease while another candidate holds it. */
  #watch: Informer | null = null;
  /** Ends the wait of a candidate that watches. */
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
      // From start to start: a slow store must not cost a holder the time that it has left.
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
    // It comes and goes: how long it has heard nothing is no sign of trouble.
    const observer = {};
    const from = { store, clock, random, logger, observer };
    this.#watch = createInformer({ ...from, kind: KINDS.lease, namespace, fields });
    this.#watch.onChange(({ type, object }) => {
      // A lease that was deleted under its holder is still relied on by it.
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

  /** Returns at once where the lease can't be watched: it is asked for then. */
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

  /** Never rejects, and never lasts longer than the renew deadline, whatever the store does. */
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
      // Somebody else was faster: the next attempt sees what they wrote.
      if (isStoreError(error, "conflict") || isStoreError(error, "already_exists")) return;
      if (this.#stop.signal.aborted) return;
      logger.warnOnce(`lease:${name}`, "lease neither taken nor renewed, trying again", {
        lease: name,
        error,
      });
    } finally {
      // What still hangs in the store must do nothing more when it comes back.
      attempt.abort();
    }
  }

  async #tryAcquireOrRenew(signal: AbortSignal): Promise<void> {
    if (this.#own !== null && this.isLeader() && (await this.#renewKnown(this.#own, signal))) return;
    const stored = await this.#options.store.get(this.#ref);
    signal.throwIfAborted();
    if (stored === null) {
      this.#own = null;
      // A lease that was deleted under its holder is still relied on by it.
      if (!this.#isHeldByAnother()) await this.#write(null, signal);
      return;
    }
    this.#observe(stored);
    if (!this.#isHeldByAnother()) await this.#write(stored, signal);
  }

  /** One request instead of two, while nobody else writes. False: it must be read. */
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
    // An answer that comes after the deadline is as good as none: the next attempt reads what has become of
    // it.
    signal.throwIfAborted();
    this.#observe(written);
    this.#own = written;
    this.#renewed(sentMs);
  }

  #renewed(sentMs: number): void {
    const { clock, renewDeadlineMs } = this.#options;
    // A renewal after the deadline begins another term, although nobody else has led meanwhile.
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

  /** Whether the lease as last seen can still be relied on by its holder. */
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

  /** A listener's fault is its own. */
  #call(listener: (() => void) | undefined): void {
    try {
      listener?.();
    } catch (error) {
      this.#options.logger.error("lease listener failed", { lease: this.#options.name, error });
    }
  }
}

/** Rejects with the signal's reason, as late as that; never resolves. */
function abortionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

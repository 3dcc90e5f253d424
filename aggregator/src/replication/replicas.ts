import {
  candidacy,
  createInformer,
  ELECTION_DEFAULTS,
  isStoreError,
  KINDS,
  readLease,
  type CandidateOptions,
  type Informer,
  type InformerChange,
  type KubernetesObject,
  type LeaderElection,
  type Leadership,
  type LeaseRecord,
} from "@isochrone/kubernetes";
import { periodic, withDeadline, type Periodic, type Service } from "@isochrone/runtime";
import { rendezvousOwner } from "./domain/rendezvous.ts";
import { AGGREGATOR_LEASE } from "./leadership.ts";

/** Label of the Leases by which replicas show that they are alive. */
export const REPLICA_LABEL = "isochrone.dev/replica-of";
const COMPONENT = "aggregator";
const LEASE_PREFIX = `${AGGREGATOR_LEASE}-`;
/** Number of lease durations after which an unchanged Lease is deleted; long after it counts as live. */
const FORGET_AFTER_DURATIONS = 10;
/** Deadline for the deletion of the own Lease at shutdown, ms. */
const DELETE_DEADLINE_MS = 5_000;

export interface Replica {
  readonly name: string;
  /** Base URL; null: unknown. */
  readonly url: string | null;
}

interface ReplicasOptions extends CandidateOptions {
  readonly url: () => string | null;
  readonly leadership: Leadership;
}

/** A replica's Lease as last seen, with the monotonic time of its last change. */
interface Sighting {
  readonly name: string;
  readonly record: LeaseRecord;
  readonly changedMs: number;
  readonly resourceVersion: string | undefined;
}

/** Each replica has a Lease. All see the same Leases, so they agree on owners, except during a change. */
export class Replicas implements Service {
  readonly #options: ReplicasOptions;
  readonly #own: LeaderElection;
  readonly #cleaner: Periodic;
  readonly #sightings = new Map<string, Sighting>();
  readonly #durationMs: number;
  readonly #settleMs: number;
  #informer: Informer | null = null;
  #isSynced = false;

  constructor(options: ReplicasOptions) {
    const { clock, logger, timing = {} } = options;
    const { leaseDurationMs, retryPeriodMs } = { ...ELECTION_DEFAULTS, ...timing };
    this.#options = options;
    this.#durationMs = leaseDurationMs;
    this.#settleMs = retryPeriodMs;
    this.#own = candidacy(options, this.#leaseName, { labels: { [REPLICA_LABEL]: COMPONENT } });
    this.#cleaner = periodic({
      clock,
      intervalMs: leaseDurationMs,
      run: () => this.#deleteForgotten(),
      onError: (error) =>
        logger.warnOnce("replicas:delete", "leases of gone replicas not deleted", { error }),
    });
  }

  /** Sorted by name; includes this replica while its own Lease is valid. */
  liveReplicas(): readonly Replica[] {
    const { clock, replica, url } = this.#options;
    const nowMs = clock.monotonic();
    const live = this.#own.isLeader() ? [{ name: replica, url: url() }] : [];
    for (const { name, record, changedMs } of this.#sightings.values()) {
      const isAlive = nowMs < changedMs + (record.durationMs ?? this.#durationMs);
      if (record.holder !== null && isAlive && name !== replica) live.push({ name, url: record.holder.url });
    }
    return live.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  isAlive(): boolean {
    return this.#own.isLeader();
  }

  /** Owner of the object as known here; null while no replica is known to be live. */
  ownerOf(object: string): string | null {
    if (!this.#isSynced) return null;
    return rendezvousOwner(
      object,
      this.liveReplicas().map(({ name }) => name),
    );
  }

  /** Requires a valid own Lease, time for others to have seen it, and knowledge of their Leases. */
  owns(object: string): boolean {
    const aliveForMs = this.#own.leadingForMs();
    return (
      aliveForMs !== null && aliveForMs >= this.#settleMs && this.ownerOf(object) === this.#options.replica
    );
  }

  async start(): Promise<void> {
    const informer = createInformer({ ...this.#options, kind: KINDS.lease });
    this.#informer = informer;
    informer.onChange((change) => this.#take(change));
    informer.synced().then(
      () => (this.#isSynced = true),
      // Stopped before the first list; nothing is owned.
      () => undefined,
    );
    this.#own.start();
    this.#cleaner.start();
  }

  /** Call after all writes by ownership have stopped, because others take over at once. */
  async stop(): Promise<void> {
    await this.#cleaner.stop();
    await this.#own.stop();
    await this.#deleteOwn();
    await this.#informer?.stop();
  }

  get #leaseName(): string {
    return LEASE_PREFIX + this.#options.replica;
  }

  #take({ type, object }: InformerChange): void {
    const { labels, name, resourceVersion } = object.metadata;
    if (!name.startsWith(LEASE_PREFIX)) return;
    if (type === "deleted" || labels?.[REPLICA_LABEL] !== COMPONENT) {
      this.#sightings.delete(name);
      return;
    }
    const record = readLease(object);
    const known = this.#sightings.get(name);
    const isRenewed = known?.record.fingerprint !== record.fingerprint;
    const changedMs = isRenewed ? this.#options.clock.monotonic() : known.changedMs;
    this.#sightings.set(name, { name: name.slice(LEASE_PREFIX.length), record, changedMs, resourceVersion });
  }

  async #deleteForgotten(): Promise<void> {
    const { leadership, clock } = this.#options;
    for (const [leaseName, { changedMs, resourceVersion }] of this.#sightings) {
      if (!leadership.isLeader()) return;
      if (leaseName === this.#leaseName) continue;
      if (clock.monotonic() - changedMs < FORGET_AFTER_DURATIONS * this.#durationMs) continue;
      await this.#delete(leaseName, ({ metadata }) => metadata.resourceVersion === resourceVersion);
    }
  }

  /** Deletes the own Lease. Others already see from an empty Lease that the replica is gone. */
  async #deleteOwn(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await withDeadline(clock, DELETE_DEADLINE_MS, "deletion of the replica's lease", () =>
        this.#delete(this.#leaseName, (lease) => readLease(lease).holder === null),
      );
    } catch (error) {
      logger.warn("lease of this replica not deleted", { error });
    }
  }

  async #delete(name: string, isSame: (lease: KubernetesObject) => boolean): Promise<void> {
    const { store, namespace } = this.#options;
    const ref = { ...KINDS.lease, namespace, name };
    const lease = await store.get(ref);
    if (lease === null || !isSame(lease)) return;
    try {
      await store.delete(ref);
    } catch (error) {
      if (!isStoreError(error, "not_found")) throw error;
    }
  }
}

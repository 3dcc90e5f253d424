import type { ClusterStore, Leadership } from "@isochrone/kubernetes";
import type { Clock, Logger, Part } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import { FileKeyStore } from "../keys/file-key-store.ts";
import { SecretKeyStore } from "../keys/secret-key-store.ts";
import { BandwidthLeases, type LeaseNode } from "../domain/bandwidth/bandwidth-leases.ts";
import { KeyReports } from "../keys/domain/key-reports.ts";
import type { AwaitedProbe } from "../keys/domain/rotation.ts";
import type { PlanNode } from "./domain/rule.ts";
import { zoneKey } from "./domain/zone-representatives.ts";
import { ProbePlans, type PlannedPair, type Plans, type PlanTime } from "./domain/probe-plan.ts";
import { AggregatorError } from "../ports/errors.ts";
import type { LeaseDesk } from "../http/bandwidth-lease-routes.ts";
import type { PlanSources } from "../http/probe-plan-route.ts";
import { KeyKeeper } from "../keys/key-keeper.ts";
import { deskAfterElection, isElected } from "../replication/leadership.ts";
import type { ClusterWatch, KeyStore, ProbeAddresses } from "../ports/ports.ts";
import { createProbingMetrics, type ProbingMetrics } from "./probing-metrics.ts";
import type { AggregatorConfig } from "../settings.ts";

const MAX_TESTED_PAIRS = 65_536;
const LEASE_ID_BYTES = 12;
const NOT_LEADER_RETRY_MS = 30_000;

/** A completed bandwidth test, wall time. */
export interface PastTest {
  readonly source: string;
  readonly target: string;
  readonly observedMs: number;
}

interface ProbingOptions {
  readonly config: AggregatorConfig;
  readonly store: ClusterStore;
  readonly watch: ClusterWatch;
  readonly addresses: ProbeAddresses;
  readonly leadership: Leadership;
  readonly keyStore?: KeyStore | undefined;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

export class Probing {
  readonly #options: ProbingOptions;
  readonly #plans: ProbePlans;
  readonly #reports: KeyReports;
  readonly #leases: BandwidthLeases;
  readonly #metrics: ProbingMetrics;
  /** Null: keys are managed elsewhere. */
  readonly #keys: KeyKeeper | null;

  constructor(options: ProbingOptions) {
    const { config, clock, randomBytes } = options;
    this.#options = options;
    this.#plans = new ProbePlans({
      fullMeshLimit: config.probeFullMeshLimit,
      peers: config.probePeers,
      maxZones: config.probeZonePeers,
      rotationMs: config.probeRotationMs,
    });
    this.#reports = new KeyReports(config.keyReportMaxAgeMs);
    this.#keys = this.#createKeeper();
    this.#leases = new BandwidthLeases(
      {
        leaseMs: config.bandwidthLeaseMs,
        testBytes: config.bandwidthTestBytes,
        bytesPerHour: config.bandwidthHourlyBytes,
        pairIntervalMs: config.bandwidthPairIntervalMs,
        maxPairs: MAX_TESTED_PAIRS,
      },
      () => Buffer.from(randomBytes(LEASE_ID_BYTES)).toString("base64url"),
      clock.monotonic(),
    );
    this.#metrics = createProbingMetrics(options.registry, {
      figures: () => this.#now().figures(),
      clock,
      leases: this.#leases,
      keys: this.#keys,
    });
  }

  get planSources(): PlanSources {
    const { addresses, clock } = this.#options;
    return {
      addresses,
      plans: () => this.#now(),
      nowMs: () => clock.now(),
      signingKeyId: () => this.#keys?.signingKeyId ?? null,
      onReport: (node, report) => {
        if (this.#keys !== null) this.#reports.record(node, report, clock.monotonic());
      },
    };
  }

  get leaseDesk(): LeaseDesk {
    const { clock, config, leadership } = this.#options;
    const desk: LeaseDesk = {
      acquire: (node) => {
        const answer = this.#acquire(node);
        if (answer.lease === null) this.#metrics.leasesDenied.inc({ reason: answer.denial });
        else this.#metrics.leasesGranted.inc();
        return answer;
      },
      release: (id) => void this.#leases.release(id, clock.monotonic()),
    };
    if (!isElected(leadership)) return desk;
    return deskAfterElection(desk, leadership, config.bandwidthLeaseMs, (reason) =>
      this.#metrics.leasesDenied.inc({ reason }),
    );
  }

  /** Imports the previous leader's tests, as known from bursts. */
  rememberTests(tests: Iterable<PastTest>): void {
    const { clock } = this.#options;
    const plans = this.#now();
    const wallAheadMs = clock.now() - clock.monotonic();
    for (const test of [...tests].sort((a, b) => a.observedMs - b.observedMs)) {
      const [source, target] = [plans.node(test.source), plans.node(test.target)];
      if (source === null || target === null) continue;
      this.#leases.remember(leaseNode(source), leaseNode(target), test.observedMs - wallAheadMs);
    }
  }

  get parts(): readonly Part[] {
    return [{ name: "probe keys", service: this.#keys }];
  }

  /** Names the inputs that must arrive before probes can be served. */
  pending(): string[] {
    return this.#keys === null || this.#keys.isReady ? [] : ["waiting for the keys of packet authentication"];
  }

  wanted(): (pair: PlannedPair) => boolean {
    return this.#plans.wanted(this.#options.watch.nodes(), this.#time());
  }

  #now(): Plans {
    return this.#plans.at(this.#options.watch.nodes(), this.#time());
  }

  #time(): PlanTime {
    const { clock } = this.#options;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }

  #acquire(name: string): ReturnType<LeaseDesk["acquire"]> {
    const { addresses, clock, leadership } = this.#options;
    const plans = this.#now();
    const source = plans.node(name);
    if (source === null) throw new AggregatorError("unknown_node", `there is no node ${name}`);
    if (!leadership.isLeader())
      return { lease: null, denial: "not_leader", retryAfterMs: NOT_LEADER_RETRY_MS };
    const targets = (plans.peersOf(name) ?? []).filter(
      (peer) => (addresses.peer(name, peer.name)?.bandwidthPort ?? null) !== null,
    );
    return this.#leases.acquire(leaseNode(source), targets.map(leaseNode), clock.monotonic());
  }

  #createKeeper(): KeyKeeper | null {
    const { config, store, keyStore, leadership, clock, logger, randomBytes } = this.#options;
    const kept = keyStore ?? keyStoreOf(config, store);
    if (kept === null) return null;
    return new KeyKeeper({
      store: kept,
      leadership,
      clock,
      logger,
      randomBytes,
      rule: {
        rotationMs: config.keyRotationMs,
        confirmMs: config.keyConfirmMs,
        graceMs: config.keyGraceMs,
      },
      checkMs: config.keyCheckMs,
      probes: () => this.#awaitedProbes(),
    });
  }

  /** Live probes: with a ready node and an address, or with a recent request for a plan. */
  #awaitedProbes(): AwaitedProbe[] | null {
    const { watch, addresses, clock } = this.#options;
    if (watch.pending().length > 0) return null;
    const plans = this.#now();
    this.#reports.retain((node) => plans.node(node) !== null);
    const nowMs = clock.monotonic();
    return watch
      .nodes()
      .nodes.filter(
        ({ name }) =>
          this.#reports.isLive(name, nowMs) ||
          (plans.node(name)?.eligible === true && addresses.self(name) !== null),
      )
      .map(({ name }) => ({ node: name, report: this.#reports.of(name) }));
  }
}

function leaseNode({ name, region, zone }: PlanNode): LeaseNode {
  return { name, zone: zoneKey({ region, zone }) ?? "" };
}

function keyStoreOf(
  { hmacKeysFile, hmacKeysSecret }: AggregatorConfig,
  store: ClusterStore,
): KeyStore | null {
  if (hmacKeysFile !== null) return new FileKeyStore(hmacKeysFile);
  if (hmacKeysSecret === null) return null;
  const [namespace = "", name = ""] = hmacKeysSecret.split("/");
  return new SecretKeyStore(store, namespace, name);
}

import { candidacy, electionTiming, type ClusterStore, type LeaderElection } from "@isochrone/kubernetes";
import { authorizedFetch, type Clock, type Logger, type Part, type Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { KeptCertificates } from "../adapters/own-certificates.ts";
import { ReportRelay } from "../http/forward-reports.ts";
import { LeaderForward } from "../http/forward.ts";
import { ReplicaHealths } from "../http/replica-healths.ts";
import { AGGREGATOR_LEASE } from "./leadership.ts";
import { createReplicaMetrics } from "./replicas-metrics.ts";
import { Replicas } from "./replicas.ts";
import type { AggregatorConfig } from "../settings.ts";

interface ReplicationDependencies {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Base URL of this replica; null before it listens. */
  readonly url: () => string | null;
  /** Certificates of all replicas. @default verification by settings */
  readonly certificates?: KeptCertificates | null;
}

export class Replication {
  readonly leadership: LeaderElection;
  readonly replicas: Replicas;
  readonly forward: LeaderForward;
  readonly relay: ReportRelay;
  readonly healths: ReplicaHealths;

  /** Null: this is the only replica. */
  static of(config: AggregatorConfig, deps: ReplicationDependencies): Replication | null {
    return config.replicaName === null ? null : new Replication(config.replicaName, config, deps);
  }

  private constructor(replica: string, config: AggregatorConfig, deps: ReplicationDependencies) {
    const { registry, certificates = null, ...surroundings } = deps;
    const options = {
      ...surroundings,
      namespace: config.replicaNamespace,
      replica,
      url: () => config.replicaUrl ?? deps.url(),
      timing: electionTiming(config),
    };
    this.leadership = candidacy(options, AGGREGATOR_LEASE);
    this.replicas = new Replicas({ ...options, leadership: this.leadership });
    const metrics = createReplicaMetrics(registry, () => this);
    const { clock, logger } = deps;
    const fetch = authorizedFetch({
      tokenFile: config.replicaTokenFile,
      caFile: config.replicaCaFile,
      ca: certificates === null ? null : () => certificates.trusted(),
      serverName: certificates?.serverName ?? config.replicaServerName,
      clock: deps.clock,
    });
    this.forward = new LeaderForward({
      leadership: this.leadership,
      replica,
      clock,
      fetch,
      onFailed: metrics.onForwardFailed,
    });
    this.healths = new ReplicaHealths({ replicas: this.replicas, replica, clock, fetch });
    this.relay = new ReportRelay({ forward: this.forward, clock, logger });
  }

  /** Start before everything that requires leadership or ownership. */
  get leases(): readonly Part[] {
    return [
      { name: "leader Lease", service: { stop: () => this.leadership.stop() } },
      { name: "replica Lease", service: { stop: () => this.replicas.stop() } },
    ];
  }

  /** Start after the server listens, because Leases contain its address. */
  get elections(): readonly Part[] {
    return [
      { name: "leader election", service: { start: () => this.leadership.start() } },
      { name: "replica election", service: { start: () => this.replicas.start() } },
      { name: "report relay", service: this.relay },
    ];
  }
}

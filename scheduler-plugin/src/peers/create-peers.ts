import type { ClusterStore, SharedLeadership } from "@isochrone/kubernetes";
import { authorizedFetch } from "@isochrone/runtime";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { DecisionLog } from "../domain/decision-log.ts";
import type { PlanLog } from "../domain/plan-log.ts";
import type { SchedulerPluginConfig } from "../settings.ts";
import { createPeerMetrics } from "./metrics.ts";
import { PeerAddresses } from "./peer-addresses.ts";
import { Peers } from "./peers.ts";
import { SharedRecords } from "./shared-records.ts";

interface PeerDeps {
  readonly store: ClusterStore;
  readonly leadership: SharedLeadership;
  readonly decisions: DecisionLog;
  readonly plans: PlanLog;
  /** Whether this replica, and so each of the others, speaks TLS. */
  readonly hasTls: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** This replica among others. */
export interface PeerPart {
  readonly peers: Peers;
  readonly records: SharedRecords;
  /** Copies what the others know now; returns the names of those that could not be asked. */
  readonly refresh: () => Promise<string[]>;
  readonly isLeader: () => boolean;
  readonly parts: readonly Part[];
}

/** Null: this is the only replica. */
export function createPeers(config: SchedulerPluginConfig, deps: PeerDeps): PeerPart | null {
  const { replicaName: replica, serviceName: service, replicaNamespace: namespace } = config;
  if (replica === null || service === null) return null;
  const { leadership, clock, random, registry, hasTls } = deps;
  const membership = leadership.join({
    onStartedLeading: () => undefined,
    onStoppedLeading: () => undefined,
  });
  const isLeader = (): boolean => membership.isLeader();
  const life = Math.floor(random.next() * 2 ** 48).toString(36);
  const records = new SharedRecords({ ...deps, replica, life, isLeader });
  const scheme = hasTls ? "https" : "http";
  const addresses = new PeerAddresses({ ...deps, namespace, service, replica, scheme });
  const { replicaCaFile: caFile, replicaServerName: serverName } = config;
  const { replicaCertFile: certFile, replicaKeyFile: keyFile } = config;
  const fetch = authorizedFetch({ caFile, serverName, certFile, keyFile, clock });
  const metrics = createPeerMetrics(registry);
  const peers = new Peers({ ...deps, addresses, records, isLeader, fetch, metrics });
  return {
    peers,
    records,
    refresh: () => peers.refresh(),
    isLeader,
    parts: [
      { name: "membership", service: { start: () => membership.start(), stop: () => membership.stop() } },
      { name: "addresses", service: addresses },
      { name: "records", service: peers },
    ],
  };
}

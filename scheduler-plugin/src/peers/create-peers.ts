import type { ClusterStore, SharedLeadership } from "@isochrone/kubernetes";
import { authorizedFetch, composeServices } from "@isochrone/runtime";
import type { Clock, ComposedService, Logger, Random } from "@isochrone/runtime";
import type { ServerTlsOptions } from "@isochrone/runtime/http";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { asksClients } from "../access.ts";
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
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface Records {
  readonly decisions: DecisionLog;
  readonly plans: PlanLog;
  /** TLS of this replica and thus of all; undefined: plain HTTP. */
  readonly tls: ServerTlsOptions | undefined;
}

type ReplicaFiles = Partial<Record<"caFile" | "certFile" | "keyFile", string>>;

export interface PeerPart extends ComposedService {
  readonly peers: Peers;
  readonly records: SharedRecords;
  readonly refresh: () => Promise<string[]>;
  readonly isLeader: () => boolean;
}

/** Returns null for a single replica. @param deps null without a cluster */
export function createPeers(
  config: SchedulerPluginConfig,
  deps: PeerDeps | null,
  { decisions, plans, tls }: Records,
): PeerPart | null {
  const { replicaName: replica, serviceName: service, replicaNamespace: namespace } = config;
  if (deps === null || replica === null || service === null) return null;
  const { leadership, clock, random, registry } = deps;
  const membership = leadership.join({
    onStartedLeading: () => undefined,
    onStoppedLeading: () => undefined,
  });
  const isLeader = (): boolean => membership.isLeader();
  const life = Math.floor(random.next() * 2 ** 48).toString(36);
  const records = new SharedRecords({ decisions, plans, replica, life, isLeader });
  const serverName = `${service}.${namespace}.svc`;
  const scheme = tls === undefined ? "http" : "https";
  const addresses = new PeerAddresses({ ...deps, namespace, service, replica, scheme });
  const fetch = authorizedFetch({ ...replicaFiles(config.replicaFilesDirectory, tls), clock, serverName });
  const metrics = createPeerMetrics(registry);
  const peers = new Peers({ ...deps, addresses, records, isLeader, fetch, metrics });
  const composed = composeServices([
    { name: "membership", service: { start: () => membership.start(), stop: () => membership.stop() } },
    { name: "addresses", service: addresses },
    { name: "records", service: peers },
  ]);
  return {
    parts: composed.parts,
    start: () => composed.start(),
    stop: () => composed.stop(),
    peers,
    records,
    refresh: () => peers.refresh(),
    isLeader,
  };
}

/** All replicas serve alike, so they require a client certificate if this one does. */
function replicaFiles(directory: string | null, tls: ServerTlsOptions | undefined): ReplicaFiles {
  if (directory === null) return {};
  const caFile = join(directory, "ca.crt");
  return asksClients(tls)
    ? { caFile, certFile: join(directory, "tls.crt"), keyFile: join(directory, "tls.key") }
    : { caFile };
}

import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { readNetworkTopology, type DeclaredCosts } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { createDeclaredCostsMetrics } from "./metrics.ts";
import { PolledObject } from "./polled-object.ts";
import { costUnitMs } from "./resource.ts";
import { DEFAULT_DECLARED_WEIGHTS, NO_DECLARED_WEIGHTS, type NetworkTopologyConfig } from "./settings.ts";

export interface DeclaredCostsOptions {
  readonly config: NetworkTopologyConfig;
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** Polls the NetworkTopology's declared weights on every replica. Returns null if they are not configured. */
export function pollDeclaredCosts(options: DeclaredCostsOptions): PolledObject<DeclaredCosts | null> | null {
  const { config, logger, registry } = options;
  const { namespace, name, declaredWeights } = config;
  if (declaredWeights === NO_DECLARED_WEIGHTS) return null;
  const polled = new PolledObject<DeclaredCosts | null>({
    ...options,
    object: { ...KINDS.networkTopology, namespace, name },
    intervalMs: config.checkIntervalMs,
    none: null,
    read: (object) => costsOf(object, config, logger),
    onUnavailable: (error) =>
      logger.warnOnce(
        "network-topology:declared-unavailable",
        "no declared costs: their kind isn't there, or access is denied",
        { namespace, name, error },
      ),
    onError: (error) =>
      logger.warnOnce("network-topology:declared", "declared costs can't be read, trying again", { error }),
  });
  createDeclaredCostsMetrics(registry, () => polled.current());
  return polled;
}

function costsOf(
  object: KubernetesObject,
  config: NetworkTopologyConfig,
  logger: Logger,
): DeclaredCosts | null {
  const { namespace, name, declaredWeights: weights } = config;
  const subject = { namespace, name, weights };
  const unitMs = costUnitMs(object, config.costUnitMs);
  const { costs, faults } = readNetworkTopology(object, weights);
  const [first] = faults;
  if (unitMs === null)
    logger.warn("declared costs are not used: the annotation of their scale is no number above 0", subject);
  else if (costs === null && weights !== DEFAULT_DECLARED_WEIGHTS)
    logger.warn("the NetworkTopology has no weights of that name", subject);
  if (first !== undefined) {
    const { path, rule, value } = first;
    const fault = `${path.join(".")} ${rule}, got ${JSON.stringify(value) ?? "nothing"}`;
    logger.warn("declared costs left out", { ...subject, faults: faults.length, first: fault });
  }
  if (unitMs === null || costs === null) return null;
  return { source: `NetworkTopology ${namespace}/${name}, ${weights}`, unitMs, ...costs };
}

import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { readNetworkTopology, type DeclaredCosts } from "@isochrone/topology";
import { Gauge, type Registry } from "prom-client";
import { costUnitMs } from "./resource.ts";
import { DEFAULT_DECLARED_WEIGHTS, NO_DECLARED_WEIGHTS, type NetworkTopologyConfig } from "./settings.ts";
import { isUnavailable } from "./unavailable.ts";

export interface DeclaredCostsOptions {
  readonly config: NetworkTopologyConfig;
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * The weights of the NetworkTopology that somebody declared, read again and again by every replica: one small object, which a watch would
 * not make cheaper. While the API server can't be asked what was read last stays.
 */
export class DeclaredCostsReader implements Service {
  readonly #options: DeclaredCostsOptions;
  readonly #weights: string;
  readonly #loop: Periodic;
  #costs: DeclaredCosts | null = null;
  #wasRead = false;
  #resourceVersion: string | undefined;

  /** Null when none are to be read. */
  static of(options: DeclaredCostsOptions): DeclaredCostsReader | null {
    const { declaredWeights: weights } = options.config;
    return weights === NO_DECLARED_WEIGHTS ? null : new DeclaredCostsReader(weights, options);
  }

  private constructor(weights: string, options: DeclaredCostsOptions) {
    this.#weights = weights;
    this.#options = options;
    const { clock, logger, registry, config } = options;
    const pairs: Gauge = new Gauge({
      name: "isochrone_network_topology_declared_pairs",
      help: "Ordered pairs of zones and regions whose cost was read from the declared weights of the NetworkTopology.",
      registers: [registry],
      collect: () => pairs.set((this.#costs?.zones.length ?? 0) + (this.#costs?.regions.length ?? 0)),
    });
    this.#loop = periodic({
      clock,
      intervalMs: config.checkIntervalMs,
      immediate: true,
      run: () => this.read(),
      onError: (error) =>
        logger.warnOnce("network-topology:declared", "declared costs can't be read, trying again", { error }),
    });
  }

  async start(): Promise<void> {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Null while there are none. */
  current(): DeclaredCosts | null {
    return this.#costs;
  }

  /** Whether the object was asked for once with an answer: a graph before that would lack what is declared. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** One look. Rejects with StoreErrors of the way. */
  async read(): Promise<void> {
    const { config, store, logger } = this.#options;
    const { namespace, name } = config;
    let object: KubernetesObject | null = null;
    try {
      object = await store.get({ ...KINDS.networkTopology, namespace, name });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      logger.warnOnce(
        "network-topology:declared-unavailable",
        "no declared costs: their kind isn't there, or access is denied",
        {
          namespace,
          name,
          error,
        },
      );
    }
    this.#wasRead = true;
    const { resourceVersion } = object?.metadata ?? {};
    if (object !== null && resourceVersion !== undefined && resourceVersion === this.#resourceVersion) return;
    this.#resourceVersion = resourceVersion;
    this.#costs = object === null ? null : this.#costsOf(object);
  }

  #costsOf(object: KubernetesObject): DeclaredCosts | null {
    const { config, logger } = this.#options;
    const subject = { namespace: config.namespace, name: config.name, weights: this.#weights };
    const unitMs = costUnitMs(object, config.costUnitMs);
    const { costs, faults } = readNetworkTopology(object, this.#weights);
    const [first] = faults;
    if (unitMs === null)
      logger.warn("declared costs are not used: the annotation of their scale is no number above 0", subject);
    else if (costs === null && this.#weights !== DEFAULT_DECLARED_WEIGHTS)
      logger.warn("the NetworkTopology has no weights of that name", subject);
    if (first !== undefined) {
      const { path, rule, value } = first;
      const fault = `${path.join(".")} ${rule}, got ${JSON.stringify(value) ?? "nothing"}`;
      logger.warn("declared costs left out", { ...subject, faults: faults.length, first: fault });
    }
    if (unitMs === null || costs === null) return null;
    return {
      source: `NetworkTopology ${config.namespace}/${config.name}, ${this.#weights}`,
      unitMs,
      ...costs,
    };
  }
}

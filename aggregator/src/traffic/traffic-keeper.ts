// Joins zones' demand for Services with the scheduler-plugin's routing, and retains the result.
import type { Clock, Logger } from "@isochrone/runtime";
import {
  parseReplicaReport,
  parseServiceTraffic,
  type ReplicaReport,
  type ServiceDemand,
  type ServiceTraffic,
  type TrafficSnapshot,
  type ZoneTraffic,
} from "@isochrone/topology";
import { askLeader, readAnswer } from "../adapters/ask-leader.ts";
import { KeptSnapshots } from "../adapters/kept-snapshots.ts";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import type { DecisionsSource } from "../http/decisions-routes.ts";
import { AggregatorError } from "../ports/errors.ts";

interface TrafficKeeperOptions {
  readonly decisions: DecisionsSource;
  /** The newest graphs; null before the first. */
  readonly graphs: () => PublishedGraphs | null;
  /** Retention, ms. */
  readonly horizonMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PATH = "/api/v1/dispatch";
const REPLICAS_PATH = "/api/v1/dispatch/replicas";

/** Services with zone weights, or the reason that they are unknown. */
type Spread = Pick<TrafficSnapshot, "dispatch" | "services">;

export class TrafficKeeper {
  readonly #options: TrafficKeeperOptions;
  readonly #kept: KeptSnapshots;

  constructor(options: TrafficKeeperOptions) {
    this.#options = options;
    this.#kept = new KeptSnapshots({
      ...options,
      what: "traffic is",
      trouble: "the traffic of Services can't be read",
      read: (signal) => this.now(signal),
    });
  }

  start(): void {
    this.#kept.start();
  }

  stop(): Promise<void> {
    return this.#kept.stop();
  }

  /** Current state. Rejects with an AggregatorError before the first graph. */
  async now(signal: AbortSignal): Promise<TrafficSnapshot> {
    const demand = this.#options.graphs()?.demand("full");
    if (demand === undefined) throw new AggregatorError("no_graph_yet", "no graph was built yet");
    const { dispatch, services } = await this.#spread(signal);
    const spread = new Set(services.map(nameOf));
    const others = demand.services.filter((service) => !spread.has(nameOf(service))).map(askedOnly);
    const proposed = dispatch.isOn ? await this.#proposed(signal) : NOTHING_PROPOSED;
    const all = [...services, ...others]
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
      .map((service) => withProposed(service, proposed));
    return {
      observedAt: new Date(this.#options.clock.now()).toISOString(),
      windowSeconds: demand.windowSeconds,
      dispatch,
      services: all,
    };
  }

  /** Retained state as JSON. Throws an AggregatorError if there is none. */
  at(ms: number): string {
    return this.#kept.at(ms);
  }

  /** Returns nothing if replica proposals are disabled or unavailable. */
  async #proposed(signal: AbortSignal): Promise<Proposed> {
    try {
      const body = await askLeader(this.#options.decisions, REPLICAS_PATH, "replicas_off", signal);
      return body === null ? NOTHING_PROPOSED : proposedIn(body);
    } catch (error) {
      if (!(error instanceof AggregatorError)) throw error;
      return NOTHING_PROPOSED;
    }
  }

  /** Demand is shown even if routing is disabled or unavailable. */
  async #spread(signal: AbortSignal): Promise<Spread> {
    try {
      const body = await askLeader(this.#options.decisions, PATH, "dispatch_off", signal);
      if (body === null) return nobody("no scheduler-plugin spreads requests (dispatch.levers)");
      return {
        dispatch: { isOn: true, message: null },
        services: [...readAnswer(body, parseServiceTraffic, "the traffic of Services")],
      };
    } catch (error) {
      if (!(error instanceof AggregatorError)) throw error;
      return nobody(error.message);
    }
  }
}

function nobody(message: string): Spread {
  return { dispatch: { isOn: false, message }, services: [] };
}

type Proposed = ReadonlyMap<string, ReplicaReport["services"][number]>;

const NOTHING_PROPOSED: Proposed = new Map();

function proposedIn(body: Buffer): Proposed {
  const { services } = readAnswer(body, parseReplicaReport, "replicas");
  return new Map(services.map((service) => [nameOf(service), service]));
}

/** Endpoints known by zone weights take precedence, because replicas may still start. */
function withProposed(service: ServiceTraffic, proposed: Proposed): ServiceTraffic {
  const report = proposed.get(nameOf(service));
  if (report === undefined) return service;
  const ofZone = new Map(report.zones.map((each) => [each.zone, each]));
  const known = new Set(service.zones.map(({ zone }) => zone));
  const others = [...ofZone.keys()].filter((zone) => !known.has(zone));
  const zones = [...service.zones, ...others.map((zone) => bareZone(zone))].map((each) => {
    const { replicas = null, wanted = null } = ofZone.get(each.zone ?? "") ?? {};
    return { ...each, endpoints: each.endpoints ?? replicas, proposedEndpoints: wanted };
  });
  return { ...service, capacityPerSecond: service.capacityPerSecond ?? report.capacityPerSecond, zones };
}

function bareZone(zone: string | null): ZoneTraffic {
  return {
    zone,
    requestsPerSecond: 0,
    inTimeRatio: null,
    p50Ms: null,
    endpoints: null,
    loadRatio: null,
    advisedLoadRatio: null,
    now: null,
    advised: null,
  };
}

function askedOnly({ namespace, name, deadlineMs, zones }: ServiceDemand): ServiceTraffic {
  return {
    namespace,
    name,
    lever: null,
    state: null,
    message: null,
    deadlineMs,
    capacityPerSecond: null,
    abovePerSecond: null,
    zones: zones.map(({ zone, requestsPerSecond, inTimeRatio, latencyMs: { p50 } }) => ({
      ...bareZone(zone),
      requestsPerSecond,
      inTimeRatio,
      p50Ms: p50,
    })),
  };
}

function nameOf({ namespace, name }: Pick<ServiceTraffic, "name" | "namespace">): string {
  return `${namespace}/${name}`;
}

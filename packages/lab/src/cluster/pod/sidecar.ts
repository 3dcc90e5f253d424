import { Agent } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isRecord } from "@isochrone/primitives";
import { LOAD_PATH, PEER_ID_HEADER, PEER_METADATA_HEADER, UNKNOWN } from "../names.ts";
import type { SocketAddress } from "../ports.ts";
import { forward, refuse } from "./exchange.ts";
import { FLAGS, SidecarMetrics } from "./metrics.ts";
import type { Channel, Flag } from "./metrics.ts";
import type { Identity, PodConfig, Route, RouteEndpoint } from "./protocol.ts";

interface Destination {
  readonly endpoint: RouteEndpoint;
  readonly channel: Channel;
}

interface RouteState {
  readonly route: Route;
  readonly destinations: readonly Destination[];
  next: number;
}

interface SidecarDependencies {
  readonly config: Pick<PodConfig, "identity" | "service" | "callTimeoutMs" | "idleTimeoutMs">;
  readonly application: () => SocketAddress;
  readonly monotonic: () => number;
  readonly random: () => number;
}

/** An application's proxy: forwards inbound and outbound requests, and counts both like Istio's. */
export class Sidecar {
  readonly metrics = new SidecarMetrics();
  readonly #config: SidecarDependencies["config"];
  readonly #application: () => SocketAddress;
  readonly #monotonic: () => number;
  readonly #random: () => number;
  readonly #agent: Agent;
  readonly #peerHeaders: Readonly<Record<string, string | undefined>>;
  readonly #peers = new Map<string, Identity | null>();
  #routes = new Map<string, RouteState>();

  constructor({ config, application, monotonic, random }: SidecarDependencies) {
    this.#config = config;
    this.#application = application;
    this.#monotonic = monotonic;
    this.#random = random;
    const { identity, idleTimeoutMs: timeout } = config;
    this.#agent = new Agent({ keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 256, timeout });
    const { pod, namespace } = identity;
    this.#peerHeaders = {
      [PEER_METADATA_HEADER]: Buffer.from(JSON.stringify(identity)).toString("base64"),
      [PEER_ID_HEADER]: `sidecar~${identity.address}~${pod}.${namespace}~${namespace}.svc.cluster.local`,
    };
  }

  setRoutes(routes: readonly Route[]): void {
    const states = new Map<string, RouteState>();
    for (const route of routes) {
      const destinations = route.endpoints.map((endpoint) => ({
        endpoint,
        channel: this.#outboundChannel(route, endpoint.identity),
      }));
      const previous = this.#routes.get(route.service);
      const state = { route, destinations, next: previous?.next ?? 0 };
      for (const host of hostsOf(route)) states.set(host, state);
    }
    this.#routes = states;
  }

  /** From other pods to the application. */
  readonly inbound = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const channel = this.#inboundChannel(incoming.headers[PEER_METADATA_HEADER]);
    forward({
      incoming,
      outgoing,
      target: this.#application(),
      agent: this.#agent,
      timeoutMs: this.#config.callTimeoutMs * 2,
      headers: STRIP_PEER,
      monotonic: this.#monotonic,
      done: (outcome) => (incoming.url === LOAD_PATH ? undefined : channel.record(outcome)),
    });
  };

  /** From the application to other services, by Host header. */
  readonly outbound = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const host = (incoming.headers.host ?? "").replace(/:\d+$/, "");
    const state = this.#routes.get(host);
    if (state === undefined)
      return this.#refuse(incoming, outgoing, { code: 404, flag: FLAGS.noRoute, route: null });
    const { destinations, route } = state;
    const at = route.choice === "random" ? Math.floor(this.#random() * destinations.length) : state.next++;
    const destination = destinations[at % Math.max(1, destinations.length)];
    if (destination === undefined)
      return this.#refuse(incoming, outgoing, {
        code: 503,
        flag: FLAGS.noHealthyUpstream,
        route: state.route,
      });
    forward({
      incoming,
      outgoing,
      target: destination.endpoint,
      agent: this.#agent,
      timeoutMs: this.#config.callTimeoutMs,
      headers:
        route.authority === undefined ? this.#peerHeaders : { ...this.#peerHeaders, host: route.authority },
      monotonic: this.#monotonic,
      done: (outcome) => destination.channel.record(outcome),
    });
  };

  close(): void {
    this.#agent.destroy();
  }

  #refuse(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    why: { code: number; flag: Flag; route: Route | null },
  ): void {
    const reason = why.route === null ? "no such service" : `no ready endpoint of ${why.route.service}`;
    refuse(incoming, outgoing, why.code, reason);
    const outcome = { code: why.code, flag: why.flag, requestBytes: 0, responseBytes: 0, durationMs: 0 };
    this.#outboundChannel(why.route, null).record(outcome);
  }

  #outboundChannel(route: Route | null, destination: Identity | null): Channel {
    const service = route?.service ?? UNKNOWN;
    return this.metrics.channel(`out|${service}|${workloadKey(destination)}`, () => ({
      reporter: "source",
      source: this.#config.identity,
      destination,
      service,
      serviceNamespace: route?.namespace ?? UNKNOWN,
    }));
  }

  #inboundChannel(metadata: string | string[] | undefined): Channel {
    const source = typeof metadata === "string" ? this.#peer(metadata) : null;
    return this.metrics.channel(`in|${workloadKey(source)}`, () => ({
      reporter: "destination",
      source,
      destination: this.#config.identity,
      service: this.#config.service,
      serviceNamespace: this.#config.identity.namespace,
    }));
  }

  #peer(metadata: string): Identity | null {
    let peer = this.#peers.get(metadata);
    if (peer === undefined) {
      peer = decodePeer(metadata);
      // Bounds the cache, because pods come and go.
      if (this.#peers.size >= 1_000) this.#peers.clear();
      this.#peers.set(metadata, peer);
    }
    return peer;
  }
}

const STRIP_PEER = { [PEER_METADATA_HEADER]: undefined, [PEER_ID_HEADER]: undefined };

function hostsOf({ service, namespace }: Route): string[] {
  return [
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
  ];
}

function workloadKey(identity: Identity | null): string {
  return identity === null
    ? ""
    : `${identity.namespace}/${identity.workload}/${identity.app}/${identity.version}`;
}

const IDENTITY_FIELDS = ["pod", "namespace", "workload", "app", "version", "address"] as const;

function isIdentity(value: unknown): value is Identity {
  return isRecord(value) && IDENTITY_FIELDS.every((field) => typeof value[field] === "string");
}

function decodePeer(metadata: string): Identity | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(metadata, "base64").toString("utf8"));
    return isIdentity(value) ? value : null;
  } catch {
    return null;
  }
}

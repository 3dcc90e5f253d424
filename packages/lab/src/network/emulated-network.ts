import type { Logger } from "@isochrone/runtime";
import {
  claimAddresses,
  MAX_NODES,
  type Addressing,
  type AddressPlan,
  type SocketAddress,
} from "./addresses.ts";
import { NetworkError } from "./errors.ts";
import { LinkTable } from "./link-table.ts";
import type { LinkChange, LinkMatrix, LinkSettings } from "./links.ts";
import { RECORD_DEPTH_MS, type PairRecord, type Protocol } from "./record.ts";
import { downError, spawnRelay, type RelayProcess } from "./relay-process.ts";
import type { ExposePlan } from "./relay/messages.ts";

export interface EmulatedNetworkOptions {
  /** Names; their order is that of the rows of `links`. */
  readonly nodes: readonly string[];
  readonly links: LinkMatrix;
  readonly logger: Logger;
  /** @default "auto" */
  readonly addressing?: Addressing;
  /** Of jitter and loss. @default 1 */
  readonly seed?: number;
}

/** A port of a node. */
export interface ExposedPort {
  readonly protocol: Protocol;
  readonly port: number;
}

/**
 * A port that other nodes reach, with the relay's port for every source; `ports` is empty until it is open.
 */
interface Exposure {
  readonly node: number;
  readonly protocol: Protocol;
  readonly port: number;
  ports: ReadonlyMap<number, number>;
  opening: Promise<void>;
}

/**
 * The truth that the relay emulates: round-trip times in ms by initiator and responder, null for a cut, 0 on
 * the diagonal.
 */
export interface NetworkTruth {
  readonly nodes: readonly string[];
  readonly rttMs: readonly (readonly (number | null)[])[];
}

/**
 * A network between nodes on one machine. Traffic between two nodes goes through a relay, a process of its
 * own, that translates addresses and adds delay, jitter, loss and a bandwidth limit by ordered pair.
 */
export class EmulatedNetwork {
  readonly #table: LinkTable;
  readonly #plan: AddressPlan;
  readonly #logger: Logger;
  readonly #seed: number;
  readonly #exposures = new Map<string, Exposure>();
  readonly #downListeners = new Set<(reason: string) => void>();
  #relay: RelayProcess | null = null;
  #stopped = false;

  /** @throws NetworkError for invalid arguments, without free addresses, or when the relay doesn't start */
  static async start(options: EmulatedNetworkOptions): Promise<EmulatedNetwork> {
    if (options.nodes.length > MAX_NODES) {
      throw new NetworkError(
        "invalid_argument",
        `a network has at most ${MAX_NODES} nodes, got ${options.nodes.length}`,
      );
    }
    const table = new LinkTable(options.nodes, options.links);
    const network = new EmulatedNetwork(options, table, await claimAddresses(options.addressing ?? "auto"));
    try {
      await network.restartRelay();
    } catch (error) {
      await network.stop();
      throw error;
    }
    return network;
  }

  private constructor(options: EmulatedNetworkOptions, table: LinkTable, plan: AddressPlan) {
    this.#table = table;
    this.#plan = plan;
    this.#logger = options.logger;
    this.#seed = options.seed ?? 1;
  }

  get nodes(): readonly string[] {
    return this.#table.nodes;
  }
  /** How pairs are told apart on this system. */
  get addressing(): "loopback" | "ports" {
    return this.#plan.kind;
  }
  /** Null while the relay is down. */
  get relayPid(): number | null {
    return this.#relay?.pid ?? null;
  }

  /**
   * The address on which the processes of a node listen. With addressing by ports it is the same for all
   * nodes.
   */
  nodeAddress(node: string): string {
    return this.#plan.nodeHost(this.#table.index(node));
  }

  /** Makes a port of a node reachable from all other nodes. Does nothing if it is already. */
  async expose(node: string, { protocol, port }: ExposedPort): Promise<void> {
    const index = this.#table.index(node);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new NetworkError(
        "invalid_argument",
        `${node}: an exposed port must be an integer from 1 to 65535, got ${port}`,
      );
    }
    const key = exposureKey(index, protocol, port);
    const known = this.#exposures.get(key);
    if (known !== undefined) return known.opening;
    const exposure: Exposure = { node: index, protocol, port, ports: new Map(), opening: Promise.resolve() };
    this.#exposures.set(key, exposure);
    exposure.opening = this.#open(exposure);
    try {
      await exposure.opening;
    } catch (error) {
      if (this.#exposures.get(key) === exposure) this.#exposures.delete(key);
      throw error;
    }
  }

  /**
   * Closes what {@link expose} opened; established connections are reset. Does nothing for a port that isn't
   * exposed.
   */
  async unexpose(node: string, { protocol, port }: ExposedPort): Promise<void> {
    const index = this.#table.index(node);
    const key = exposureKey(index, protocol, port);
    const exposure = this.#exposures.get(key);
    if (exposure === undefined) return;
    await exposure.opening.catch(() => undefined);
    if (!this.#exposures.delete(key)) return;
    await this.#relay?.call("unexpose", { target: index, protocol, port });
  }

  /**
   * Where processes on `source` reach an exposed port of `target`; on the node itself that is its own
   * address.
   * @throws NetworkError `not_exposed`
   */
  resolve(source: string, target: string, { protocol, port }: ExposedPort): SocketAddress {
    const from = this.#table.index(source);
    const to = this.#table.index(target);
    if (from === to) return { host: this.#plan.nodeHost(to), port };
    const pairPort = this.#exposures.get(exposureKey(to, protocol, port))?.ports.get(from);
    if (pairPort === undefined) {
      throw new NetworkError(
        "not_exposed",
        `${protocol} port ${port} of ${target} must be exposed before ${source} can reach it`,
      );
    }
    return { host: this.#plan.pairHost(from, to), port: pairPort };
  }

  /**
   * Changes the link for exchanges that `a` initiates and, unless `oneWay`, for those that `b` initiates.
   * Resolves when it is in force.
   */
  async setLink(
    a: string,
    b: string,
    change: LinkChange,
    options: { readonly oneWay?: boolean } = {},
  ): Promise<void> {
    const changed = this.#table.change(a, b, change, options.oneWay ?? false);
    for (const { source, target, link } of changed)
      await this.#relay?.call("setLink", { source, target, link });
  }

  link(a: string, b: string): LinkSettings {
    return this.#table.link(a, b);
  }

  /** What the relay is told to emulate. Services must not read it. */
  matrix(): NetworkTruth {
    return { nodes: this.nodes, rttMs: this.#table.rttMs() };
  }

  /**
   * What really happened to the packets that passed, for every ordered pair with traffic.
   * @param options.lastMs how far back, up to 120 s in whole seconds @default 30000
   */
  async record(options: { readonly lastMs?: number } = {}): Promise<readonly PairRecord[]> {
    const lastMs = options.lastMs ?? 30_000;
    if (!(lastMs > 0 && lastMs <= RECORD_DEPTH_MS)) {
      throw new NetworkError(
        "invalid_argument",
        `lastMs must be above 0 and at most ${RECORD_DEPTH_MS}, got ${lastMs}`,
      );
    }
    const pairs = await this.#need().call("record", { lastMs });
    return pairs.map(({ source, target, udp, tcp }) => ({
      source: this.nodes[source]!,
      target: this.nodes[target]!,
      udp,
      tcp,
    }));
  }

  /** Calls the listener when the relay dies; it is not restarted by itself. Returns how to stop listening. */
  onDown(listener: (reason: string) => void): () => void {
    this.#downListeners.add(listener);
    return () => this.#downListeners.delete(listener);
  }

  /**
   * Starts a relay, ending a running one, with the current links and everything that is exposed. Its record
   * starts empty.
   */
  async restartRelay(): Promise<void> {
    if (this.#stopped) throw new NetworkError("relay_down", "a stopped network can't be restarted");
    await this.#endRelay();
    const relay: RelayProcess = await spawnRelay(this.#logger, (reason) => {
      // Null, or another one: it was ended on purpose, or never came up.
      if (this.#relay === null || this.#relay !== relay) return;
      this.#relay = null;
      this.#logger.error("relay down", { reason });
      for (const listener of this.#downListeners) listener(reason);
    });
    this.#relay = relay;
    await relay.call("configure", { links: this.#table.matrix(), seed: this.#seed });
    for (const exposure of this.#exposures.values()) {
      exposure.opening = this.#open(exposure);
      await exposure.opening;
    }
  }

  /** Ends the relay and gives the addresses back. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#endRelay();
    await this.#plan.release();
  }

  async #endRelay(): Promise<void> {
    const relay = this.#relay;
    this.#relay = null;
    await relay?.kill();
  }

  /** After a restart the same ports are asked for again, so that what was resolved before stays true. */
  async #open(exposure: Exposure): Promise<void> {
    const { node, protocol, port } = exposure;
    const sources = this.nodes.map((_, index) => index).filter((index) => index !== node);
    const plan: ExposePlan = {
      target: node,
      protocol,
      port,
      targetHost: this.#plan.nodeHost(node),
      listeners: sources.map((source) => ({
        source,
        host: this.#plan.pairHost(source, node),
        port: exposure.ports.get(source) ?? this.#plan.pairPort(port),
        egressHost: this.#plan.egressHost(source),
      })),
    };
    const ports = await this.#need().call("expose", plan);
    exposure.ports = new Map(sources.map((source, at) => [source, ports[at]!]));
  }

  #need(): RelayProcess {
    if (this.#relay === null) throw downError(this.#stopped ? "stopped" : "it ended and was not restarted");
    return this.#relay;
  }
}

function exposureKey(node: number, protocol: Protocol, port: number): string {
  return `${node}/${protocol}/${port}`;
}

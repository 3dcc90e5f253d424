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
  readonly nodes: readonly string[];
  readonly links: LinkMatrix;
  readonly logger: Logger;
  readonly addressing?: Addressing;
  /** Seed of jitter and loss. @default 1 */
  readonly seed?: number;
}

export interface ExposedPort {
  readonly protocol: Protocol;
  readonly port: number;
}

/** A reachable port, with the relay's port per source; `ports` is empty until it is open. */
interface Exposure {
  readonly node: number;
  readonly protocol: Protocol;
  readonly port: number;
  ports: ReadonlyMap<number, number>;
  opening: Promise<void>;
}

/** Configured round-trip times in ms by initiator and responder; null for a cut, 0 on the diagonal. */
export interface NetworkTruth {
  readonly nodes: readonly string[];
  readonly rttMs: readonly (readonly (number | null)[])[];
}

/**
 * A network between nodes on one machine. A relay process translates addresses and adds delay, jitter, loss
 * and a bandwidth limit per ordered pair.
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

  /** @throws NetworkError for invalid arguments, without free addresses, or if the relay doesn't start */
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
  get addressing(): "loopback" | "ports" {
    return this.#plan.kind;
  }
  get relayPid(): number | null {
    return this.#relay?.pid ?? null;
  }

  /** Listen address of the node's processes; the same for all nodes with addressing by ports. */
  nodeAddress(node: string): string {
    return this.#plan.nodeHost(this.#table.index(node));
  }

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

  /** Reverts {@link expose} and resets connections; idempotent. */
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
   * Address of an exposed port of `target` as seen from `source`; on the node itself its own.
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

  /** Changes exchanges initiated by `a` and, unless `oneWay`, by `b`. Resolves when applied. */
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

  /** The emulated ground truth. Services must not read it. */
  matrix(): NetworkTruth {
    return { nodes: this.nodes, rttMs: this.#table.rttMs() };
  }

  /**
   * Outcomes of packets per ordered pair with traffic.
   * @param options.lastMs up to 120 s in whole seconds @default 30000
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

  /** Called when the relay dies; it isn't restarted automatically. Returns an unsubscribe function. */
  onDown(listener: (reason: string) => void): () => void {
    this.#downListeners.add(listener);
    return () => this.#downListeners.delete(listener);
  }

  /** Starts a new relay with the current links and exposed ports. Its record starts empty. */
  async restartRelay(): Promise<void> {
    if (this.#stopped) throw new NetworkError("relay_down", "a stopped network can't be restarted");
    await this.#endRelay();
    const relay: RelayProcess = await spawnRelay(this.#logger, (reason) => {
      // A different or null relay was ended on purpose or never started.
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

  /** Requests the same ports after a restart, so that resolved addresses stay valid. */
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

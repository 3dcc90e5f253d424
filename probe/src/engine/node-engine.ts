import { Distribution } from "@isochrone/telemetry";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import type { EngineConfig, EngineSnapshot, ProbePeer, ThreadSnapshot } from "../ports.ts";
import type { EngineContext, Flow } from "./context.ts";
import { Responder } from "./responder.ts";
import { openTcpResponder } from "./tcp-responder.ts";
import { TcpFlow } from "./tcp-flow.ts";
import type { Appointment } from "./timetable.ts";
import { openUdpResponder } from "./udp-responder.ts";
import { UdpFlow } from "./udp-flow.ts";

/** What an engine shares with the others of its thread. */
export interface NodeEngineDeps extends Pick<
  EngineContext,
  "timetable" | "stalls" | "monotonic" | "random" | "nonce" | "afterPoll"
> {
  /** Wall time, ms since the epoch. */
  now(): number;
  /** What the thread observed of itself since this engine's last snapshot. */
  takeThread(): ThreadSnapshot;
  onSnapshot(snapshot: EngineSnapshot): void;
}

interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** The engine of one node, inside the measuring thread: its flows, its responder, its snapshots. */
export class NodeEngine {
  readonly #config: EngineConfig;
  readonly #deps: NodeEngineDeps;
  readonly #context: EngineContext;
  readonly #responder: Responder;
  readonly #listeners: Listener[] = [];
  /** By peer and method, with everything that, if it changes, makes it another flow. */
  readonly #flows = new Map<string, Flow>();
  #startMs: number;
  #publish: Appointment | null = null;

  constructor(config: EngineConfig, deps: NodeEngineDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#startMs = deps.now();
    const identity = parseAddress(config.identity);
    if (identity === null) {
      throw new RangeError(`identity must be an IP address, got ${JSON.stringify(config.identity)}`);
    }
    const keys = new Keyring(config.keys);
    this.#context = { ...deps, config, keys, identity, lateness: { current: new Distribution() } };
    this.#responder = new Responder({ config, keys, identity, monotonic: deps.monotonic });
  }

  /** Opens the responder's sockets and starts the publishing of snapshots. */
  async open(): Promise<{ udpPort: number; tcpPort: number }> {
    const { bindAddress: address, udpPort, tcpPort, publishIntervalMs } = this.#config;
    try {
      const udp = await openUdpResponder(this.#responder, { address, port: udpPort }, this.#deps.monotonic);
      this.#listeners.push(udp);
      const tcp = await openTcpResponder(this.#responder, { address, port: tcpPort }, this.#deps.monotonic);
      this.#listeners.push(tcp);
      // The first interval is cut short at random, so that the probes of a cluster don't all publish at one moment.
      this.#schedulePublish(publishIntervalMs * (0.5 + this.#deps.random() / 2));
      return { udpPort: udp.port, tcpPort: tcp.port };
    } catch (error) {
      await this.#closeListeners();
      throw error;
    }
  }

  /** Starts flows to new peers, ends those to gone ones, leaves the others alone. */
  setPeers(peers: readonly ProbePeer[]): void {
    const wanted = new Set<string>();
    for (const peer of peers) {
      for (const method of ["udp_rr", "tcp_rr"] as const) {
        if (!this.#config.methods.includes(method)) continue;
        const port = method === "udp_rr" ? peer.udpPort : peer.tcpPort;
        const key = JSON.stringify([peer.node, method, peer.address, port, peer.identity]);
        wanted.add(key);
        if (this.#flows.has(key)) continue;
        const flow =
          method === "udp_rr" ? new UdpFlow(this.#context, peer) : new TcpFlow(this.#context, peer);
        this.#flows.set(key, flow);
        flow.start();
      }
    }
    for (const [key, flow] of this.#flows) {
      if (wanted.has(key)) continue;
      flow.stop();
      this.#flows.delete(key);
    }
  }

  /** Publishes the rest, then closes everything. */
  async close(): Promise<void> {
    this.#publish?.cancel();
    for (const flow of this.#flows.values()) flow.stop();
    this.#publishNow();
    this.#flows.clear();
    await this.#closeListeners();
  }

  #schedulePublish(inMs: number): void {
    this.#publish = this.#deps.timetable.at(this.#deps.monotonic() + inMs, () => {
      this.#schedulePublish(this.#config.publishIntervalMs);
      this.#publishNow();
    });
  }

  #publishNow(): void {
    const endMs = this.#deps.now();
    const lateness = this.#context.lateness.current;
    this.#context.lateness.current = new Distribution();
    this.#deps.onSnapshot({
      startMs: Math.min(this.#startMs, endMs),
      endMs,
      flows: [...this.#flows.values()].map((flow) => flow.take()),
      sendLateness: lateness.toData(),
      responder: this.#responder.take(),
      thread: this.#deps.takeThread(),
      zeroCheck: null,
    });
    this.#startMs = endMs;
  }

  async #closeListeners(): Promise<void> {
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.close()));
  }
}

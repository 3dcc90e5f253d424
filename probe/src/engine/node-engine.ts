import { Distribution, type Method } from "@isochrone/telemetry";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import type { EngineConfig, EngineSnapshot, PacketKey, ProbePeer, ThreadSnapshot } from "../ports/ports.ts";
import type { EngineContext, Flow } from "./context.ts";
import { ConnectFlow } from "./connect-flow.ts";
import { TcpFlow } from "./tcp-flow.ts";
import type { Appointment } from "./timetable.ts";
import { UdpFlow } from "./udp-flow.ts";

const FLOWS: readonly (readonly [Method, FlowKind])[] = [
  ["udp_rr", { portOf: (peer) => peer.udpPort, open: (context, peer) => new UdpFlow(context, peer) }],
  ["tcp_rr", { portOf: (peer) => peer.tcpPort, open: (context, peer) => new TcpFlow(context, peer) }],
  [
    "tcp_connect",
    { portOf: (peer) => peer.tcpPort, open: (context, peer) => new ConnectFlow(context, peer) },
  ],
];

interface FlowKind {
  readonly portOf: (peer: ProbePeer) => number;
  readonly open: (context: EngineContext, peer: ProbePeer) => Flow;
}

/** Timeouts for which a replaced key still verifies, so that late answers are recognized. */
const RETIRED_TIMEOUTS = 3;

interface NodeEngineDeps extends Pick<
  EngineContext,
  "sockets" | "timetable" | "stalls" | "pace" | "monotonic" | "random" | "nonce" | "afterPoll"
> {
  now(): number;
  /** The thread's own statistics since this engine's last snapshot. */
  drainThread(): ThreadSnapshot;
  onSnapshot(snapshot: EngineSnapshot): void;
}

export class NodeEngine {
  readonly #config: EngineConfig;
  readonly #deps: NodeEngineDeps;
  readonly #context: EngineContext;
  /** Keyed by peer, method and every property whose change makes it another flow. */
  readonly #flows = new Map<string, Flow>();
  #startMs: number;
  #publish: Appointment | null = null;
  #forgetKeys: Appointment | null = null;

  constructor(config: EngineConfig, deps: NodeEngineDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#startMs = deps.monotonic();
    const identity = parseAddress(config.identity);
    if (identity === null) {
      throw new RangeError(`identity must be an IP address, got ${JSON.stringify(config.identity)}`);
    }
    const keys = new Keyring(config.keys, config.signingKeyId);
    this.#context = { ...deps, config, keys, identity, lateness: { current: new Distribution() } };
  }

  start(): void {
    // Randomly shortens the first interval, so that a cluster's probes do not all publish at once.
    this.#schedulePublish(this.#config.publishIntervalMs * (0.5 + this.#deps.random() / 2));
  }

  setPeers(peers: readonly ProbePeer[]): void {
    const wanted = new Set<string>();
    for (const peer of peers) {
      for (const [method, { portOf, open }] of FLOWS) {
        if (!this.#config.methods.includes(method)) continue;
        const key = JSON.stringify([peer.node, method, peer.address, portOf(peer), peer.identity]);
        wanted.add(key);
        if (this.#flows.has(key)) continue;
        const flow = open(this.#context, peer);
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

  /** Replaces the keys. Answers to earlier requests still verify for as long as they can be in time. */
  setKeys(keys: readonly PacketKey[], signingKeyId: number): void {
    this.#context.keys.replace(keys, signingKeyId);
    const forgetAtMs = this.#deps.monotonic() + this.#config.timeoutMs * RETIRED_TIMEOUTS;
    // Recently replaced keys get the new grace period, never a shorter one.
    this.#forgetKeys?.cancel();
    this.#forgetKeys = this.#deps.timetable.at(forgetAtMs, () => this.#context.keys.forgetRetired());
  }

  close(): void {
    this.#publish?.cancel();
    this.#forgetKeys?.cancel();
    for (const flow of this.#flows.values()) flow.stop();
    this.#publishNow();
    this.#flows.clear();
  }

  #schedulePublish(inMs: number): void {
    this.#publish = this.#deps.timetable.at(this.#deps.monotonic() + inMs, () => {
      this.#schedulePublish(this.#config.publishIntervalMs);
      this.#publishNow();
    });
  }

  #publishNow(): void {
    // Durations come from the monotonic clock: the wall clock may be set meanwhile.
    const [endMs, nowMs] = [this.#deps.now(), this.#deps.monotonic()];
    const lateness = this.#context.lateness.current;
    this.#context.lateness.current = new Distribution();
    this.#deps.onSnapshot({
      startMs: endMs - Math.max(0, nowMs - this.#startMs),
      endMs,
      flows: [...this.#flows.values()].map((flow) => flow.drain()),
      sendLateness: lateness.toData(),
      thread: this.#deps.drainThread(),
      // Counted in other threads; the main thread adds these.
      responder: { answered: 0, refused: {} },
      zeroCheck: null,
      icmpProber: null,
    });
    this.#startMs = nowMs;
  }
}

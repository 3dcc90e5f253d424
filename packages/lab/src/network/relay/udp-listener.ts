import { once } from "node:events";
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { Listener, RelayContext } from "./context.ts";
import type { ExposePlan, ListenerPlan } from "./messages.ts";
import type { Pair } from "./pair.ts";
import { UdpFlow } from "./udp-flow.ts";

const MAX_FLOWS = 512;
const FLOW_IDLE_MS = 60_000;
/** Buffers bursts while the process is busy; the system may grant less. */
const RECEIVE_BUFFER_BYTES = 1024 * 1024;

/** A socket whose addresses are numeric: no DNS look-up and no extra tick. */
function openUdpSocket(): Socket {
  return createSocket({
    type: "udp4",
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    lookup: (host, _options, callback) => callback(null, host, 4),
  });
}

export class UdpListener implements Listener {
  readonly #context: RelayContext;
  readonly #expose: ExposePlan;
  readonly #plan: ListenerPlan;
  readonly #pair: Pair;
  readonly #socket = openUdpSocket();
  readonly #flows = new Map<string, UdpFlow>();

  static async open(
    this: void,
    context: RelayContext,
    expose: ExposePlan,
    plan: ListenerPlan,
    pair: Pair,
  ): Promise<UdpListener> {
    const listener = new UdpListener(context, expose, plan, pair);
    const socket = listener.#socket;
    // Subscribe first: with the custom look-up it may be listening before `bind` returns.
    const listening = once(socket, "listening");
    socket.bind({ address: plan.host, port: plan.port, exclusive: true });
    await listening;
    socket.on("error", (error) =>
      context.fault("udp listener failed", `${plan.host}:${plan.port}: ${error.message}`),
    );
    return listener;
  }

  private constructor(context: RelayContext, expose: ExposePlan, plan: ListenerPlan, pair: Pair) {
    this.#context = context;
    this.#expose = expose;
    this.#plan = plan;
    this.#pair = pair;
    this.#socket.on("message", (packet, from) => this.#flow(from).request(packet));
  }

  get port(): number {
    return this.#socket.address().port;
  }

  close(): void {
    this.#socket.close();
    for (const flow of this.#flows.values()) flow.close();
    this.#flows.clear();
  }

  expire(nowMs: number): void {
    for (const [key, flow] of this.#flows) {
      if (nowMs - flow.lastUsedMs > FLOW_IDLE_MS) this.#remove(key, flow);
    }
  }

  #flow(from: RemoteInfo): UdpFlow {
    const key = `${from.address}:${from.port}`;
    const known = this.#flows.get(key);
    if (known !== undefined) return known;
    if (this.#flows.size >= MAX_FLOWS) this.#evict();
    const flow = new UdpFlow(this.#context, this.#pair, {
      client: { host: from.address, port: from.port },
      target: { host: this.#expose.targetHost, port: this.#expose.port },
      egressHost: this.#plan.egressHost,
      listener: this.#socket,
    });
    this.#flows.set(key, flow);
    return flow;
  }

  #evict(): void {
    let oldest: [string, UdpFlow] | null = null;
    for (const entry of this.#flows) {
      if (oldest === null || entry[1].lastUsedMs < oldest[1].lastUsedMs) oldest = entry;
    }
    if (oldest !== null) this.#remove(oldest[0], oldest[1]);
  }

  #remove(key: string, flow: UdpFlow): void {
    this.#flows.delete(key);
    flow.close();
  }
}

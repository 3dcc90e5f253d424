import { createSocket, type Socket } from "node:dgram";
import type { SocketAddress } from "../addresses.ts";
import type { RelayContext } from "./context.ts";
import type { Pair } from "./pair.ts";
import type { Path } from "./path.ts";
import { isExpired, type OpenExchange } from "./traffic-log.ts";

const MAX_OPEN_EXCHANGES = 1024;
const MAX_UNSENT = 64;

interface UdpFlowEnds {
  readonly client: SocketAddress;
  readonly target: SocketAddress;
  readonly egressHost: string | null;
  /** The client's destination, from which answers must come. */
  readonly listener: Socket;
}

/** Packets between a client socket and a target port, with its own upstream socket. */
export class UdpFlow {
  readonly #context: RelayContext;
  readonly #pair: Pair;
  readonly #ends: UdpFlowEnds;
  readonly #upstream = createSocket("udp4");
  readonly #open: OpenExchange[] = [];
  #unsent: Buffer[] | null = [];
  #lastForwardMs = 0;
  #lastBackMs = 0;
  #closed = false;
  lastUsedMs: number;

  constructor(context: RelayContext, pair: Pair, ends: UdpFlowEnds) {
    this.#context = context;
    this.#pair = pair;
    this.#ends = ends;
    this.lastUsedMs = context.monotonic();
    // ICMP errors of a closed target are silence to the client, as behind NAT.
    this.#upstream.on("error", () => undefined);
    this.#upstream.on("message", (packet) => this.#answer(packet));
    const connect = (): void =>
      this.#upstream.connect(ends.target.port, ends.target.host, () => this.#sendUnsent());
    if (ends.egressHost === null) connect();
    else this.#upstream.bind({ address: ends.egressHost, port: 0, exclusive: true }, connect);
  }

  request(packet: Buffer): void {
    const { forward, udp } = this.#pair;
    const arrivedMs = this.#context.monotonic();
    const dueMs = this.#admit(forward, packet, arrivedMs);
    if (dueMs === null) return;
    this.#lastForwardMs = Math.max(dueMs, this.#lastForwardMs);
    this.#context.queue.add(this.#lastForwardMs, () => {
      const nowMs = this.#release(forward, packet);
      if (nowMs === null) return;
      this.#send(packet);
      udp.forwarded(nowMs);
      if (this.#open.length >= MAX_OPEN_EXCHANGES) this.#open.shift();
      this.#open.push({ spentMs: nowMs - arrivedMs, releasedMs: nowMs });
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#upstream.close();
  }

  #answer(packet: Buffer): void {
    const { back, udp } = this.#pair;
    const arrivedMs = this.#context.monotonic();
    // Matched even if the answer gets lost: the next answer belongs to the next request.
    const exchange = this.#takeExchange(arrivedMs);
    const dueMs = this.#admit(back, packet, arrivedMs);
    if (dueMs === null) return;
    this.#lastBackMs = Math.max(dueMs, this.#lastBackMs);
    this.#context.queue.add(this.#lastBackMs, () => {
      const nowMs = this.#release(back, packet);
      if (nowMs === null) return;
      const { listener, client } = this.#ends;
      listener.send(packet, client.port, client.host, () => undefined);
      udp.forwarded(nowMs);
      if (exchange !== null) udp.exchange(exchange.spentMs + nowMs - arrivedMs, nowMs);
    });
  }

  #admit(path: Path, packet: Buffer, nowMs: number): number | null {
    this.lastUsedMs = nowMs;
    const dueMs = path.admitPacket(packet.length, nowMs);
    if (dueMs === null) this.#pair.udp.dropped(nowMs);
    return dueMs;
  }

  #release(path: Path, packet: Buffer): number | null {
    path.left(packet.length);
    const nowMs = this.#context.monotonic();
    if (!path.isCut && !this.#closed) return nowMs;
    this.#pair.udp.dropped(nowMs);
    return null;
  }

  #takeExchange(nowMs: number): OpenExchange | null {
    for (let exchange = this.#open.shift(); exchange !== undefined; exchange = this.#open.shift()) {
      if (!isExpired(exchange, nowMs)) return exchange;
    }
    return null;
  }

  #send(packet: Buffer): void {
    if (this.#unsent === null) this.#upstream.send(packet, () => undefined);
    else if (this.#unsent.length < MAX_UNSENT) this.#unsent.push(packet);
  }

  #sendUnsent(): void {
    const unsent = this.#unsent ?? [];
    this.#unsent = null;
    for (const packet of unsent) this.#send(packet);
  }
}

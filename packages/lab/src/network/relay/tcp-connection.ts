import { connect, type Socket } from "node:net";
import type { RelayContext } from "./context.ts";
import { DelayedStream } from "./delayed-stream.ts";
import type { ExposePlan, ListenerPlan } from "./messages.ts";
import type { Pair } from "./pair.ts";
import { isExpired, type OpenExchange } from "./traffic-log.ts";

/**
 * One connection through the relay. The client's connect succeeds at once, so the handshake is charged later.
 * With t the time of accept and R the round trip:
 * - the relay connects to the target at t + R/2, when a SYN would arrive;
 * - data that the client sends before t + R counts as sent at t + R, when connect would return. A client that
 *   writes at once sees 2 R for connect and first exchange, one that waits R or longer sees R;
 * - data that the target sends first, or its refusal, reaches the client at t + R.
 * A lost handshake packet delays the connection like any lost chunk.
 */
export class TcpConnection {
  readonly #context: RelayContext;
  readonly #pair: Pair;
  readonly #client: Socket;
  #upstream: Socket | null = null;
  #exchange: OpenExchange | null = null;

  constructor(context: RelayContext, expose: ExposePlan, plan: ListenerPlan, pair: Pair, client: Socket) {
    this.#context = context;
    this.#pair = pair;
    this.#client = client;
    client.setNoDelay(true);
    const nowMs = context.monotonic();
    const synArrivesMs = pair.forward.admitChunk(0, nowMs).dueMs;
    const establishedMs = pair.back.admitChunk(0, nowMs, synArrivesMs).dueMs;
    const forward = new DelayedStream(context, pair.forward, client, establishedMs, {
      arrived: () => (spentMs, nowMs) => this.#requestPassed(spentMs, nowMs),
      retransmitted: (count, nowMs) => pair.tcp.dropped(nowMs, count),
    });
    context.queue.add(synArrivesMs, () => this.#whenPassable(() => this.#dial(expose, plan, forward)));
  }

  destroy(): void {
    this.#client.resetAndDestroy();
    this.#upstream?.resetAndDestroy();
  }

  #whenPassable(then: () => void): void {
    const { forward } = this.#pair;
    if (!forward.stalls) then();
    else
      forward.onceHealed((nowMs) =>
        this.#context.queue.add(nowMs + forward.delayMs, () => this.#whenPassable(then)),
      );
  }

  #dial(expose: ExposePlan, plan: ListenerPlan, forward: DelayedStream): void {
    if (this.#client.destroyed) return;
    const { targetHost: host, port } = expose;
    const local = plan.egressHost === null ? {} : { localAddress: plan.egressHost };
    const upstream = connect({ host, port, ...local, allowHalfOpen: true, noDelay: true });
    this.#upstream = upstream;
    const back = new DelayedStream(this.#context, this.#pair.back, upstream, 0, {
      arrived: (nowMs) => this.#answerArrived(nowMs),
      retransmitted: (count, nowMs) => this.#pair.tcp.dropped(nowMs, count),
    });
    forward.attach(upstream);
    back.attach(this.#client);
  }

  #requestPassed(spentMs: number, nowMs: number): void {
    this.#pair.tcp.forwarded(nowMs);
    this.#exchange ??= { spentMs, releasedMs: nowMs };
  }

  /** The first chunk back closes the exchange that the first chunk out opened. */
  #answerArrived(arrivedMs: number): (spentMs: number, nowMs: number) => void {
    const exchange = this.#exchange;
    this.#exchange = null;
    return (spentMs, nowMs) => {
      this.#pair.tcp.forwarded(nowMs);
      if (exchange === null || isExpired(exchange, arrivedMs)) return;
      this.#pair.tcp.exchange(exchange.spentMs + spentMs, nowMs);
    };
  }
}

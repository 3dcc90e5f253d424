import { IDEAL_LINK } from "../links.ts";
import type { Listener, RelayContext } from "./context.ts";
import type { ExposePlan, ListenerPlan, RelayCalls, RelayPairRecord } from "./messages.ts";
import { Pair } from "./pair.ts";
import { TcpListener } from "./tcp-listener.ts";
import { NO_TRAFFIC } from "./traffic-log.ts";
import { UdpListener } from "./udp-listener.ts";

type Handlers = {
  [C in keyof RelayCalls]: (
    argument: RelayCalls[C]["arguments"],
  ) => RelayCalls[C]["result"] | Promise<RelayCalls[C]["result"]>;
};

export class Relay implements Handlers {
  readonly #context: RelayContext;
  readonly #pairs = new Map<string, Pair>();
  readonly #listeners = new Map<string, readonly Listener[]>();

  constructor(context: RelayContext) {
    this.#context = context;
  }

  configure({ links, seed }: RelayCalls["configure"]["arguments"]): null {
    for (const [source, row] of links.entries()) {
      for (const [target, link] of row.entries()) {
        if (source !== target) this.#pairs.set(pairKey(source, target), new Pair(source, target, link, seed));
      }
    }
    return null;
  }

  setLink({ source, target, link }: RelayCalls["setLink"]["arguments"]): null {
    this.#pair(source, target).change(link, this.#context.monotonic());
    return null;
  }

  /** Opens all listeners of the plan or none. */
  async expose(plan: ExposePlan): Promise<readonly number[]> {
    const opened = await Promise.allSettled(plan.listeners.map((listener) => this.#listen(plan, listener)));
    const listeners = opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failure = opened.find((result) => result.status === "rejected");
    if (failure !== undefined) {
      for (const listener of listeners) listener.close();
      throw failure.reason;
    }
    this.#listeners.set(exposeKey(plan), listeners);
    return listeners.map(({ port }) => port);
  }

  unexpose(port: RelayCalls["unexpose"]["arguments"]): null {
    for (const listener of this.#listeners.get(exposeKey(port)) ?? []) listener.close();
    this.#listeners.delete(exposeKey(port));
    return null;
  }

  record({ lastMs }: RelayCalls["record"]["arguments"]): readonly RelayPairRecord[] {
    const nowMs = this.#context.monotonic();
    const records: RelayPairRecord[] = [];
    for (const { source, target, udp, tcp } of this.#pairs.values()) {
      const udpRecord = udp.read(nowMs, lastMs);
      const tcpRecord = tcp.read(nowMs, lastMs);
      if (udpRecord === null && tcpRecord === null) continue;
      records.push({ source, target, udp: udpRecord ?? NO_TRAFFIC, tcp: tcpRecord ?? NO_TRAFFIC });
    }
    return records;
  }

  expire(): void {
    const nowMs = this.#context.monotonic();
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) if (listener instanceof UdpListener) listener.expire(nowMs);
    }
  }

  #listen(expose: ExposePlan, plan: ListenerPlan): Promise<Listener> {
    const pair = this.#pair(plan.source, expose.target);
    const { open } = expose.protocol === "udp" ? UdpListener : TcpListener;
    return open(this.#context, expose, plan, pair);
  }

  #pair(source: number, target: number): Pair {
    const key = pairKey(source, target);
    const known = this.#pairs.get(key);
    if (known !== undefined) return known;
    const pair = new Pair(source, target, IDEAL_LINK, 0);
    this.#pairs.set(key, pair);
    return pair;
  }
}

function pairKey(source: number, target: number): string {
  return `${source}/${target}`;
}

function exposeKey({ target, protocol, port }: RelayCalls["unexpose"]["arguments"]): string {
  return `${target}/${protocol}/${port}`;
}

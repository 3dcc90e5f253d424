// An in-memory kernel that refuses what the real one refuses. Embedded clusters use it as their nodes'
// kernel.
import type { MarkChange, RoutingChange, Step, TrafficChange } from "../domain/difference.ts";
import {
  matchKey,
  routeKey,
  ruleKey,
  TUNNEL,
  type HtbClass,
  type KernelState,
  type OwnState,
  type RootQdisc,
  type Way,
} from "../domain/kernel-state.ts";
import type { KernelPort } from "../ports/ports.ts";

type Mutable<T> =
  T extends ReadonlyMap<infer K, infer V> ? Map<K, Mutable<V>> : T extends ReadonlySet<infer E> ? Set<E> : T;
type Own = { -readonly [K in keyof OwnState]: Mutable<OwnState[K]> };

interface Surroundings {
  readonly ways: ReadonlyMap<string, Way>;
  readonly roots: ReadonlyMap<string, RootQdisc>;
  readonly forwards?: KernelState["forwards"];
  readonly mtus?: KernelState["mtus"];
  readonly counters?: () => KernelState["counters"];
}

export class MemoryKernel implements KernelPort {
  readonly #surroundings: Surroundings;
  readonly own: Own = {
    devices: new Map(),
    marks: new Map(),
    hops: new Map(),
    rules: new Map(),
    routes: new Map(),
    tunnel: null,
    peers: new Set(),
  };
  hasTable: boolean = false;
  onChange: () => void = () => undefined;
  applied = 0;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  state(): KernelState {
    const { ways, roots, forwards = { 4: true, 6: true }, mtus = new Map() } = this.#surroundings;
    const own = structuredClone(this.own);
    const ours = [...own.devices.keys()].map((name): [string, RootQdisc] => [
      name,
      { owner: "manager", name: "htb 15c0:" },
    ]);
    const counters =
      this.#surroundings.counters?.() ??
      new Map(
        [...own.devices].map(([device, classes]) => [
          device,
          new Map(
            [...classes.keys()].map((minor) => [
              minor,
              { sentBytes: 0, droppedPackets: 0, queuedPackets: 0 },
            ]),
          ),
        ]),
      );
    const table = this.hasTable ? "sound" : "absent";
    const around = {
      ways,
      roots: new Map([...roots, ...ours]),
      forwards,
      isStrict: false,
      mtus,
      refusedPackets: 0,
    };
    return { ...own, table, ...around, counters };
  }

  read(): Promise<KernelState> {
    return Promise.resolve(this.state());
  }

  apply(steps: readonly Step[]): Promise<string[]> {
    const complaints: string[] = [];
    for (const { changes } of steps) {
      for (const change of changes) {
        this.applied++;
        const refusal = this.#change(change);
        if (refusal !== null) complaints.push(`${change.kind}: ${refusal}`);
      }
      // nft changes are atomic; others are checked one by one.
      this.onChange();
    }
    return Promise.resolve(complaints);
  }

  #change(change: Step["changes"][number]): string | null {
    if ("device" in change) return this.#changeTraffic(change);
    if ("rule" in change || "route" in change || "tunnel" in change) return this.#changeRouting(change);
    return this.#changeMarks(change);
  }

  #changeTraffic(change: TrafficChange): string | null {
    const { device } = change;
    const classes = this.own.devices.get(device);
    switch (change.kind) {
      case "qdisc-add":
        return this.#addQdisc(device);
      case "qdisc-delete":
        return removed(this.own.devices, device);
      case "queue-add":
      case "queue-change":
        return this.#setQueue(change.kind === "queue-add", classes, change.htb);
      default:
        return this.#changeClass(change.kind, classes, change.htb);
    }
  }

  #changeMarks(change: MarkChange): string | null {
    const { marks, hops, peers } = this.own;
    switch (change.kind) {
      case "table-create":
      case "table-delete":
        marks.clear();
        hops.clear();
        peers.clear();
        this.hasTable = change.kind === "table-create";
        return null;
      case "mark-add":
        return added(marks, matchKey(change.mark.match), change.mark, this.hasTable);
      case "mark-delete":
        return removed(marks, matchKey(change.mark.match));
      case "hop-add":
        return added(hops, change.hop.address, change.hop, this.hasTable);
      case "hop-delete":
        return removed(hops, change.hop.address);
      case "peer-add":
        if (!this.hasTable || peers.has(change.address)) return "no table, or there already";
        peers.add(change.address);
        return null;
      case "peer-delete":
        return peers.delete(change.address) ? null : "not there";
      default:
        return change satisfies never;
    }
  }

  #changeRouting(change: RoutingChange): string | null {
    const { rules, routes } = this.own;
    switch (change.kind) {
      case "rule-add":
        return added(rules, ruleKey(change.rule), change.rule, true);
      case "rule-delete":
        return removed(rules, ruleKey(change.rule));
      case "route-set":
        if (change.route.device === TUNNEL.device && this.own.tunnel === null) return "no such device";
        routes.set(routeKey(change.route), change.route);
        return null;
      case "route-delete":
        return removed(routes, routeKey(change.route));
      case "tunnel-add":
      case "tunnel-change":
        if ((this.own.tunnel === null) !== (change.kind === "tunnel-add"))
          return "there already, or not there";
        this.own.tunnel = change.tunnel;
        return null;
      case "tunnel-delete":
        if (this.own.tunnel === null) return "not there";
        this.own.tunnel = null;
        return null;
      default:
        return change satisfies never;
    }
  }

  #addQdisc(device: string): string | null {
    if (this.own.devices.has(device) || this.#surroundings.roots.get(device)?.owner === "other")
      return "Exclusivity flag on, cannot modify";
    this.own.devices.set(device, new Map());
    return null;
  }

  #changeClass(
    kind: "class-add" | "class-change" | "class-delete",
    classes: Map<number, HtbClass> | undefined,
    htb: HtbClass,
  ): string | null {
    if (classes === undefined) return "no qdisc";
    const has = classes.get(htb.minor);
    if (kind === "class-delete") {
      const hasChildren = [...classes.values()].some(({ parent }) => parent === htb.minor);
      return hasChildren ? "busy" : removed(classes, htb.minor);
    }
    if (htb.parent !== null && !classes.has(htb.parent)) return "no parent";
    if ((has === undefined) !== (kind === "class-add"))
      return kind === "class-add" ? "there already" : "not there";
    if (has !== undefined && has.parent !== htb.parent) return "another parent";
    classes.set(htb.minor, { ...htb, queueBytes: has?.queueBytes ?? null });
    return null;
  }

  #setQueue(isNew: boolean, classes: Map<number, HtbClass> | undefined, htb: HtbClass): string | null {
    const has = classes?.get(htb.minor);
    if (classes === undefined || has === undefined) return "no class";
    if ((has.queueBytes === null) !== isNew) return isNew ? "there already" : "not there";
    classes.set(htb.minor, { ...has, queueBytes: htb.queueBytes });
    return null;
  }
}

function added<K, V>(map: Map<K, V>, key: K, value: V, isPossible: boolean): string | null {
  if (!isPossible) return "no table";
  if (map.has(key)) return "there already";
  map.set(key, value);
  return null;
}

function removed<K, V>(map: Map<K, V>, key: K): string | null {
  return map.delete(key) ? null : "not there";
}

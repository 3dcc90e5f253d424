// Random dumps of Kubernetes objects for tests: costs that differ by direction or coordinates alone, two
// AppGroups with equal selectors, several namespaces, workloads that are called otherwise than their AppGroup
// says, bare pods, dead pods, traffic across namespaces.

export interface PlainObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
    readonly deletionTimestamp?: string;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

export interface RandomDump {
  readonly objects: readonly PlainObject[];
  readonly topology: PlainObject;
  /** The pod to be scored; it has no node. */
  readonly pod: PlainObject;
  readonly hasCoordinates: boolean;
}

export const GROUP_LABEL = "appgroup.diktyo.x-k8s.io";
export const SELECTOR_LABEL = "appgroup.diktyo.x-k8s.io.workload";

const SELECTORS = ["s0", "s1", "s2", "s3"];
const TYPES = ["HTTPRoute", "gRPCRoute", "AMQPRoute", "HTTPServerPushRoute", "SynchronousRoute"];

/** @param draw gives numbers from 0 to below 1 */
export function randomDump(draw: () => number): RandomDump {
  return new Dice(draw).dump();
}

/** A controller, or none, and its pods. */
interface Carrier {
  readonly namespace: string;
  readonly group: string;
  readonly selector: string;
  /** null: bare pods. */
  readonly deployment: string | null;
}

class Dice {
  readonly #draw: () => number;

  constructor(draw: () => number) {
    this.#draw = draw;
  }

  dump(): RandomDump {
    const hasCoordinates = this.#chance(1 / 3);
    const names = range(this.#whole(4, 8)).map((at) => `n${at}`);
    const nodes = names.map((name) => this.#node(name, names, hasCoordinates));
    const carriers = this.#carriers();
    const pods = carriers.flatMap((carrier, at) => this.#pods(carrier, at, names));
    const own = carriers.filter(({ namespace }) => namespace === "shop");
    const scored = this.#pick(own);
    const groups = [
      this.#group("shop", "a1"),
      this.#group("shop", "a2"),
      ...(this.#chance(1 / 3) ? [this.#group("pay", "a1")] : []),
    ];
    const deployments = carriers
      .filter(({ deployment }) => deployment !== null)
      .map((carrier) => this.#deployment(carrier, carriers));
    const objects = this.#shuffled([...nodes, ...deployments, ...groups, ...pods]);
    return { objects, topology: this.#topology(), pod: podOf(scored, "new", {}, {}), hasCoordinates };
  }

  #node(name: string, all: readonly string[], hasCoordinates: boolean): PlainObject {
    const region = this.#whole(0, 1);
    const annotations: Record<string, string> = {
      "isochrone.dev/available-cpu": `${this.#whole(500, 8_000)}m`,
      "isochrone.dev/available-memory": `${this.#whole(256, 16_384)}Mi`,
    };
    if (hasCoordinates)
      annotations["isochrone.dev/network-coordinate"] = JSON.stringify([
        this.#whole(0, 60),
        this.#whole(0, 60),
        this.#whole(1, 8) / 4,
      ]);
    else
      for (const other of all)
        if (other !== name) annotations[`isochrone.dev/network-cost-${other}`] = String(this.#whole(1, 60));
    const labels = {
      "topology.kubernetes.io/region": `r${region}`,
      "topology.kubernetes.io/zone": `z${region}${this.#whole(0, 1)}`,
    };
    return { kind: "Node", metadata: { name, annotations, ...(this.#chance(0.9) ? { labels } : {}) } };
  }

  #topology(): PlainObject {
    const rows = (areas: readonly string[]): object[] =>
      this.#shuffled(areas).map((origin) => ({
        origin,
        costList: areas
          .filter((destination) => destination !== origin && this.#chance(0.8))
          .map((destination) => ({ destination, networkCost: this.#whole(1, 60) })),
      }));
    const lists = [
      { topologyKey: "topology.kubernetes.io/zone", originList: rows(["z00", "z01", "z10", "z11"]) },
      { topologyKey: "topology.kubernetes.io/region", originList: rows(["r0", "r1"]) },
    ];
    const weights = [{ name: "UserDefined", topologyList: this.#shuffled(lists) }];
    return { kind: "NetworkTopology", metadata: { name: "nt-default" }, spec: { weights } };
  }

  #carriers(): Carrier[] {
    const carriers: Carrier[] = [];
    for (const [namespace, group] of [
      ["shop", "a1"],
      ["shop", "a2"],
      ["pay", "a1"],
    ] as const) {
      for (const selector of SELECTORS) {
        if (this.#chance(namespace === "shop" ? 0.15 : 0.5)) continue;
        const name = `rel-${group}-${selector}`;
        const of = { namespace, group, selector };
        if (this.#chance(0.25)) carriers.push({ ...of, deployment: null });
        else carriers.push({ ...of, deployment: name });
        if (this.#chance(0.15)) carriers.push({ ...of, deployment: `${name}-canary` });
      }
    }
    if (!carriers.some(({ namespace }) => namespace === "shop"))
      carriers.push({ namespace: "shop", group: "a1", selector: "s0", deployment: "rel-a1-s0" });
    return carriers;
  }

  #pods(carrier: Carrier, at: number, nodes: readonly string[]): PlainObject[] {
    return range(this.#whole(carrier.deployment === null ? 1 : 0, 3)).map((replica) => {
      const isDead = this.#chance(0.1);
      const spec = this.#chance(0.85) ? { nodeName: this.#pick(nodes) } : {};
      const status = isDead && this.#chance(0.5) ? { phase: "Succeeded" } : { phase: "Running" };
      const pod = podOf(carrier, `${at}-${replica}`, spec, status);
      if (!isDead || status.phase === "Succeeded") return pod;
      return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    });
  }

  #group(namespace: string, name: string): PlainObject {
    const reference = (selector: string, of?: string): object => ({
      kind: "Deployment",
      name: `${selector}-deployment`,
      selector,
      ...(of === undefined ? {} : { namespace: of }),
    });
    // Some are listed twice, and so are some dependencies.
    const rows = this.#shuffled([...SELECTORS, ...SELECTORS.filter(() => this.#chance(0.1))]);
    const workloads = rows.map((selector) => {
      const others = SELECTORS.filter((other) => other !== selector);
      const dependencies = [...others, ...others]
        .filter(() => this.#chance(0.35))
        .map((other) => ({
          workload: reference(other, this.#chance(0.3) ? this.#pick(["shop", "pay"]) : undefined),
          maxNetworkCost: this.#pick([0, 5, 15, 25, 40, 10_000]),
        }));
      return { workload: reference(selector), dependencies };
    });
    const channels = SELECTORS.flatMap((source) =>
      SELECTORS.filter(() => this.#chance(0.3)).map((target) => ({
        source: `${source}-deployment`,
        target: `${target}-deployment`,
        ...(this.#chance(0.5) ? { type: this.#pick(TYPES) } : { priority: this.#whole(0, 120) }),
      })),
    ).filter(({ source, target }) => source !== target);
    const annotations = { "isochrone.dev/channels": JSON.stringify(channels) };
    return { kind: "AppGroup", metadata: { namespace, name, annotations }, spec: { workloads } };
  }

  #deployment({ namespace, group, selector, deployment }: Carrier, all: readonly Carrier[]): PlainObject {
    const name = deployment!;
    const annotations: Record<string, string> = {
      "isochrone.dev/cpu-usage": `${this.#whole(20, 400)}m`,
      "isochrone.dev/memory-usage": `${this.#whole(16, 512)}Mi`,
    };
    const calls: object[] = [];
    for (const other of all) {
      if (other.deployment === null || other.deployment === name) continue;
      const isOwn = other.namespace === namespace;
      const peer = isOwn ? other.deployment : `${other.namespace}.${other.deployment}`;
      if (this.#chance(0.3)) annotations[`isochrone.dev/traffic-${peer}`] = String(this.#whole(1, 5_000));
      if (this.#chance(0.05))
        calls.push({
          name: other.deployment,
          ...(isOwn ? {} : { namespace: other.namespace }),
          ...(this.#chance(0.5) ? { priority: this.#whole(0, 120) } : { maxNetworkCost: this.#whole(5, 60) }),
        });
    }
    if (calls.length > 0) annotations["isochrone.dev/dependencies"] = JSON.stringify(calls);
    const labels = { [GROUP_LABEL]: group, [SELECTOR_LABEL]: selector };
    const spec = {
      selector: { matchLabels: { deployment: name } },
      template: { metadata: { labels: { deployment: name, ...labels } } },
    };
    return { kind: "Deployment", metadata: { namespace, name, annotations }, spec };
  }

  #chance(probability: number): boolean {
    return this.#draw() < probability;
  }

  #whole(least: number, most: number): number {
    return least + Math.floor(this.#draw() * (most - least + 1));
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#whole(0, from.length - 1)]!;
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, at: this.#draw() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }
}

function podOf(
  { namespace, group, selector, deployment }: Carrier,
  suffix: string,
  spec: object,
  status: Record<string, unknown>,
): PlainObject {
  const owner = { kind: "ReplicaSet", name: `${deployment}-5d4f` };
  return {
    kind: "Pod",
    metadata: {
      namespace,
      name: `${deployment ?? `bare-${group}-${selector}`}-${suffix}`,
      labels: {
        [GROUP_LABEL]: group,
        [SELECTOR_LABEL]: selector,
        ...(deployment === null ? {} : { deployment }),
      },
      ...(deployment === null ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      ...spec,
      containers: [{ name: "c", resources: { requests: { cpu: "150m", memory: "128Mi" } } }],
    },
    status,
  };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}

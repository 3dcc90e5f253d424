// A second implementation of the scores of a dump, for tests: from Kubernetes objects alone, as slowly and
// plainly as the texts have it. KEP-260's code: pkg/networkaware/networkoverhead/networkoverhead.go and
// pkg/networkaware/util/util.go Marchese 2023: Algorithm 1 (docs/concepts.md lists the papers) Marchese 2022:
// Algorithm 1 It shares no code with what it checks.
import { GROUP_LABEL, SELECTOR_LABEL } from "./random-dump.ts";
import type { PlainObject, RandomDump } from "./random-dump.ts";

export interface OracleRow {
  readonly raw: number;
  readonly feasible: boolean;
  /** 0 to 100; null: not worked out here. */
  readonly score: number | null;
}

type Fields = Record<string, unknown>;
interface Reference {
  readonly selector: string;
  readonly name: string;
  readonly namespace?: string;
}
interface Dependency {
  readonly workload: Reference;
  readonly maxNetworkCost: number;
}
interface Listed {
  readonly workload: Reference;
  readonly dependencies: readonly Dependency[];
}

const ofKind = (objects: readonly PlainObject[], kind: string): PlainObject[] =>
  objects.filter((object) => object.kind === kind);
const label = (object: PlainObject, key: string): string => object.metadata.labels?.[key] ?? "";
const annotation = (object: PlainObject, name: string): string | undefined =>
  object.metadata.annotations?.[`isochrone.dev/${name}`];
const nodeOf = (pod: PlainObject): string => (pod.spec?.["nodeName"] as string | undefined) ?? "";
const listed = (group: PlainObject): readonly Listed[] => group.spec!["workloads"] as readonly Listed[];

/**
 * KEP-260's code: PreFilter, Filter, Score and NormalizeScore, by node name. AppGroups are those of the pod's
 * namespace.
 */
export function upstreamOracle({ objects, topology, pod }: RandomDump): Map<string, OracleRow> {
  const nodes = ofKind(objects, "Node");
  const agName = label(pod, GROUP_LABEL);
  const appGroup = ofKind(objects, "AppGroup").find(
    ({ metadata }) => metadata.name === agName && metadata.namespace === pod.metadata.namespace,
  );
  const dependencyList: Dependency[] = [];
  for (const w of appGroup === undefined ? [] : listed(appGroup))
    if (w.workload.selector === label(pod, SELECTOR_LABEL)) dependencyList.push(...w.dependencies);
  const scheduledList = ofKind(objects, "Pod").filter(
    (each) => label(each, GROUP_LABEL) === agName && nodeOf(each) !== "",
  );
  const cost = new Map<string, number>();
  const satisfied = new Map<string, number>();
  const violated = new Map<string, number>();
  for (const node of nodes) {
    const { name } = node.metadata;
    let [sum, yes, no] = [0, 0, 0];
    for (const allocated of scheduledList) {
      for (const d of dependencyList) {
        if (label(allocated, SELECTOR_LABEL) !== d.workload.selector) continue;
        if (nodeOf(allocated) === name) {
          yes += 1;
          continue;
        }
        const host = nodes.find(({ metadata }) => metadata.name === nodeOf(allocated))!;
        const entry = upstreamCost(topology, node, host);
        if (entry === "no labels") {
          sum += 100;
          no += 1;
        } else if (entry === "same zone") {
          sum += 1;
          yes += 1;
        } else if (entry === "missing") sum += 100;
        else {
          sum += entry;
          if (entry <= d.maxNetworkCost) yes += 1;
          else no += 1;
        }
      }
    }
    cost.set(name, sum);
    satisfied.set(name, yes);
    violated.set(name, no);
  }
  const isEqual = dependencyList.length === 0 || scheduledList.length === 0;
  const least = Math.min(...cost.values());
  const most = Math.max(...cost.values());
  const normalised = (value: number): number => {
    if (isEqual || (least === 0 && most === 0)) return 0;
    return most === least ? 100 : 100 - Math.trunc((100 * (value - least)) / (most - least));
  };
  return new Map(
    [...cost].map(([name, raw]) => [
      name,
      {
        raw: isEqual ? 0 : raw,
        feasible: violated.get(name)! <= satisfied.get(name)!,
        score: normalised(raw),
      },
    ]),
  );
}

function upstreamCost(
  topology: PlainObject,
  from: PlainObject,
  to: PlainObject,
): number | "no labels" | "same zone" | "missing" {
  const [region, zone] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"] as const;
  if (label(to, region) === "" && label(to, zone) === "") return "no labels";
  if (label(from, region) === label(to, region) && label(from, zone) === label(to, zone)) return "same zone";
  const key = label(from, region) === label(to, region) ? zone : region;
  const [weights] = topology.spec!["weights"] as { topologyList: Fields[] }[];
  const list = weights!.topologyList.find(({ topologyKey }) => topologyKey === key)!;
  const origin = (list["originList"] as Fields[]).find((each) => each["origin"] === label(from, key));
  const entry = ((origin?.["costList"] ?? []) as Fields[]).find(
    ({ destination }) => destination === label(to, key),
  );
  return entry === undefined ? "missing" : (entry["networkCost"] as number);
}

/** What both papers look at beside the nodes: workloads, their pods, and channels between them. */
class World {
  readonly pod: PlainObject;
  readonly pods: readonly PlainObject[];
  readonly nodes: readonly PlainObject[];
  readonly deployments: readonly PlainObject[];
  readonly #objects: readonly PlainObject[];
  readonly #workloads = new Map<PlainObject, string>();
  #declared: ReturnType<World["declaredNow"]> | null = null;

  constructor({ objects, pod }: RandomDump) {
    this.pod = pod;
    this.#objects = objects;
    this.nodes = ofKind(objects, "Node");
    this.deployments = ofKind(objects, "Deployment");
    const alive = ofKind(objects, "Pod").filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.["phase"] !== "Succeeded",
    );
    this.pods = [...alive, pod];
  }

  /** Of `namespace/name`. Bare pods of a selector are one, unless those of two AppGroups carry it. */
  workloadOf(pod: PlainObject): string {
    let workload = this.#workloads.get(pod);
    if (workload === undefined) this.#workloads.set(pod, (workload = this.#workloadOf(pod)));
    return workload;
  }

  #workloadOf(pod: PlainObject): string {
    const { namespace, ownerReferences, name } = pod.metadata;
    if (ownerReferences !== undefined)
      return `${namespace}/${ownerReferences[0]!.name.slice(0, -"-5d4f".length)}`;
    const selector = label(pod, SELECTOR_LABEL);
    const groups = new Set(
      this.pods
        .filter(({ metadata }) => metadata.ownerReferences === undefined && metadata.namespace === namespace)
        .filter((each) => label(each, SELECTOR_LABEL) === selector)
        .map((each) => label(each, GROUP_LABEL)),
    );
    return `${namespace}/${groups.size === 1 ? selector : name}`;
  }

  replicas(workload: string): PlainObject[] {
    return this.pods.filter((pod) => this.workloadOf(pod) === workload);
  }

  /** All that it means are those whose pods, or whose template, carry its labels. */
  #carriers(group: PlainObject, selector: string): Set<string> {
    const { name, namespace: own } = group.metadata;
    const named = new Set(
      listed(group).flatMap(({ workload, dependencies }) =>
        [workload, ...dependencies.map((each) => each.workload)].map(({ namespace }) => namespace),
      ),
    );
    const isItsOwn = ({ metadata: { namespace } }: PlainObject): boolean =>
      namespace === own ||
      (named.has(namespace) &&
        !ofKind(this.#objects, "AppGroup").some(
          ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
        ));
    const carriers = new Set<string>();
    for (const pod of this.pods.filter(isItsOwn))
      if (label(pod, GROUP_LABEL) === name && label(pod, SELECTOR_LABEL) === selector)
        carriers.add(this.workloadOf(pod));
    for (const deployment of this.deployments.filter(isItsOwn)) {
      const { metadata } = deployment.spec!["template"] as PlainObject;
      if (metadata.labels![GROUP_LABEL] === name && metadata.labels![SELECTOR_LABEL] === selector)
        carriers.add(`${deployment.metadata.namespace}/${deployment.metadata.name}`);
    }
    return carriers;
  }

  /**
   * By source and target: what objects of the pod's namespace declare of its own workloads; of a pair the
   * last word, annotations last.
   */
  declared(): ReturnType<World["declaredNow"]> {
    return (this.#declared ??= this.declaredNow());
  }

  declaredNow(): Map<string, { source: string; target: string; limit: number | null; priority: number }> {
    const { namespace } = this.pod.metadata;
    const found = new Map<
      string,
      { source: string; target: string; limit: number | null; priority: number }
    >();
    for (const group of ofKind(this.#objects, "AppGroup").filter(
      (each) => each.metadata.namespace === namespace,
    )) {
      const said = JSON.parse(annotation(group, "channels")!) as Fields[];
      for (const { workload, dependencies } of listed(group)) {
        for (const dependency of dependencies) {
          // Names in the annotation are of the AppGroup's own namespace, or come with another one's.
          const far = dependency.workload.namespace ?? namespace;
          const target = far === namespace ? dependency.workload.name : `${far}/${dependency.workload.name}`;
          const channel = said.find((each) => each["source"] === workload.name && each["target"] === target);
          for (const one of this.#carriers(group, workload.selector)) {
            if (!one.startsWith(`${namespace}/`)) continue;
            for (const other of this.#carriers(group, dependency.workload.selector))
              found.set(`${one} ${other}`, {
                source: one,
                target: other,
                limit: dependency.maxNetworkCost,
                priority: priorityOf(channel),
              });
          }
        }
      }
    }
    for (const { metadata } of this.deployments.filter((each) => each.metadata.namespace === namespace)) {
      const source = `${namespace}/${metadata.name}`;
      for (const call of JSON.parse(
        metadata.annotations!["isochrone.dev/dependencies"] ?? "[]",
      ) as Fields[]) {
        const target = `${(call["namespace"] as string | undefined) ?? namespace}/${call["name"] as string}`;
        const limit = (call["maxNetworkCost"] as number | undefined) ?? null;
        found.set(`${source} ${target}`, { source, target, limit, priority: priorityOf(call) });
      }
    }
    return found;
  }

  /**
   * Bytes per second of both directions, as the workloads of the pod's namespace state it; the larger of two
   * statements.
   */
  traffic(one: string, other: string): number {
    const stated = (workload: string, peer: string): number => {
      if (!workload.startsWith(`${this.pod.metadata.namespace}/`)) return 0;
      const [namespace, name] = workload.split("/");
      const deployment = this.deployments.find(
        ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
      );
      const [peerNamespace, peerName] = peer.split("/");
      const short = peerNamespace === namespace ? peerName : `${peerNamespace}.${peerName}`;
      return deployment === undefined ? 0 : Number(annotation(deployment, `traffic-${short}`) ?? 0);
    };
    return Math.max(stated(one, other), stated(other, one));
  }

  cost(from: string, to: string): number {
    if (from === to) return 0;
    const [a, b] = [from, to].map((name) => this.nodes.find(({ metadata }) => metadata.name === name)!) as [
      PlainObject,
      PlainObject,
    ];
    const stated = annotation(a, `network-cost-${to}`);
    if (stated !== undefined) return Number(stated);
    const [x, y] = [a, b].map((node) => JSON.parse(annotation(node, "network-coordinate")!) as number[]) as [
      number[],
      number[],
    ];
    return Math.hypot(x[0]! - y[0]!, x[1]! - y[1]!) + x[2]! + y[2]!;
  }

  /**
   * Of docs/scores.md, "Limits": a channel is broken when more of the placed replicas are beyond its limit
   * than within.
   */
  isWithinLimits(node: string): boolean {
    const own = this.workloadOf(this.pod);
    for (const { source, target, limit } of this.declared().values()) {
      if (limit === null) continue;
      for (const [mine, theirs, isCaller] of [
        [source, target, true],
        [target, source, false],
      ] as const) {
        if (mine !== own) continue;
        let [within, beyond] = [0, 0];
        for (const peer of this.replicas(theirs)) {
          const at = nodeOf(peer);
          if (peer === this.pod || at === "") continue;
          if ((isCaller ? this.cost(node, at) : this.cost(at, node)) <= limit) within += 1;
          else beyond += 1;
        }
        if (beyond > within) return false;
      }
    }
    return true;
  }
}

/** Of Marchese 2022, table 1 of types; a channel's own priority counts up to the largest of them. */
function priorityOf(channel: Fields | undefined): number {
  const types: Record<string, number> = {
    HTTPRoute: 100,
    gRPCRoute: 50,
    AMQPRoute: 5,
    HTTPServerPushRoute: 10,
    SynchronousRoute: 25,
  };
  const { priority, type } = channel ?? {};
  if (typeof priority === "number") return Math.min(priority, 100);
  return typeof type === "string" ? types[type]! : 0;
}

/**
 * Marchese 2023, Algorithm 1 with all weights 0.5. A replica's traffic with another one is its even share of
 * what both workloads exchange.
 */
export function resourceNetworkOracle(dump: RandomDump): Map<string, OracleRow> {
  const world = new World(dump);
  const own = world.workloadOf(dump.pod);
  const deployment = world.deployments.find(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}` === own,
  );
  const use = (name: string, request: number): number =>
    deployment === undefined ? request : Number.parseFloat(annotation(deployment, name)!);
  const [cpu, memory] = [use("cpu-usage", 150), use("memory-usage", 128)];
  const rows = new Map<string, OracleRow>();
  for (const node of world.nodes) {
    const { name } = node.metadata;
    const freeCpu = Number.parseFloat(annotation(node, "available-cpu")!);
    const freeMemory = Number.parseFloat(annotation(node, "available-memory")!);
    const rascore = 0.5 * ((freeCpu - cpu) / cpu) * 100 + 0.5 * ((freeMemory - memory) / memory) * 100;
    let nascore = 0;
    for (const cn of world.nodes) {
      for (const cp of world.pods) {
        if (cp === dump.pod || nodeOf(cp) !== cn.metadata.name) continue;
        const workload = world.workloadOf(cp);
        const pairs = world.replicas(own).length * world.replicas(workload).length;
        nascore -= world.cost(name, cn.metadata.name) * (world.traffic(own, workload) / pairs);
      }
    }
    rows.set(name, {
      raw: 0.5 * rascore + 0.5 * nascore,
      feasible: world.isWithinLimits(name),
      score: null,
    });
  }
  return rows;
}

/** Marchese 2022, Algorithm 1, with alpha and beta 0.5 and gamma 10. */
export function communicationAffinityOracle(dump: RandomDump): Map<string, OracleRow> {
  const world = new World(dump);
  const own = world.workloadOf(dump.pod);
  const declared = world.declared();
  const rows = new Map<string, OracleRow>();
  for (const node of world.nodes) {
    const { name } = node.metadata;
    let score = 0;
    for (const cn of world.nodes) {
      let pScore = 0;
      for (const p of world.pods) {
        if (p === dump.pod || nodeOf(p) !== cn.metadata.name) continue;
        const workload = world.workloadOf(p);
        const priority =
          (declared.get(`${own} ${workload}`)?.priority ?? 0) +
          (declared.get(`${workload} ${own}`)?.priority ?? 0);
        pScore += 0.5 * priority + 0.5 * world.traffic(own, workload);
      }
      score += cn === node ? 10 * pScore : pScore / world.cost(name, cn.metadata.name);
    }
    rows.set(name, { raw: score, feasible: world.isWithinLimits(name), score: null });
  }
  return rows;
}

// Workflow graphs of a dump: the aggregator's, with traffic and usage from annotations.
import type { OfflineCluster, StatedTraffic } from "@isochrone/aggregator/offline";
import { controlledWorkload } from "@isochrone/primitives/workload-name";
import { WorkflowGraph } from "@isochrone/topology";
import type { ReadWorkloadAnnotations, Workload } from "@isochrone/topology";
import { workloadAnnotations } from "./annotations.ts";
import { WORKLOAD_KINDS } from "./api-objects.ts";
import { checkDeclarations } from "./declaration-faults.ts";
import { PairTraffic } from "./pair-traffic.ts";
import type { DumpObject } from "./read-objects.ts";
import type { ScoredDump } from "./scored-dump.ts";

type Use = Pick<ReadWorkloadAnnotations, "cpuMillicores" | "memoryBytes">;

/**
 * Returns the graphs of the pod's namespace. `traffic-b` on workload a states the traffic of the pair, both
 * directions together. If both ends state it, the larger amount counts once, on the channel of the end that
 * starts the exchange. Throws DumpError for invalid annotations.
 */
export function annotatedWorkflows(dump: ScoredDump, prefixes: readonly string[]): WorkflowGraph[] {
  const { objects, cluster } = dump;
  const namespace = dump.pod.metadata.namespace!;
  const bare = new Set(
    cluster.state.pods
      .filter((pod) => pod.namespace === namespace && pod.workload === null)
      .map(({ name }) => name),
  );
  const told = new Statements(namespace, prefixes);
  for (const object of objects) {
    if (object.namespace !== namespace) continue;
    const { kind, name } = object;
    if (kind === "AppGroup") checkDeclarations(object);
    else if (WORKLOAD_KINDS.has(kind) || (kind === "Pod" && bare.has(name))) told.read(object);
  }
  return cluster
    .workflows(statedTraffic(told.traffic, cluster, namespace))
    .filter((graph) => graph.namespace === namespace)
    .map(
      (graph) =>
        new WorkflowGraph({ ...graph, workloads: graph.workloads.map((each) => used(each, told.uses)) }),
    );
}

class Statements {
  /** Keyed by name of the workload or bare pod. */
  readonly uses = new Map<string, Use>();
  readonly traffic = new PairTraffic();
  readonly #namespace: string;
  readonly #prefixes: readonly string[];

  constructor(namespace: string, prefixes: readonly string[]) {
    this.#namespace = namespace;
    this.#prefixes = prefixes;
  }

  read(object: DumpObject): void {
    const { name } = controlledWorkload({ name: object.name, labels: undefined }, object);
    const { cpuMillicores, memoryBytes, traffic } = workloadAnnotations(object, this.#prefixes);
    const before = this.uses.get(name);
    this.uses.set(name, {
      cpuMillicores: cpuMillicores ?? before?.cpuMillicores ?? null,
      memoryBytes: memoryBytes ?? before?.memoryBytes ?? null,
    });
    // A ReplicaSet carries copies of its Deployment's annotations.
    if (object.kind === "ReplicaSet") return;
    if (object.kind !== "Pod") checkDeclarations(object);
    for (const peer of traffic)
      this.traffic.state(
        `${this.#namespace}/${name}`,
        `${peer.namespace ?? this.#namespace}/${peer.name}`,
        peer,
      );
  }
}

function used(workload: Workload, uses: ReadonlyMap<string, Use>): Workload {
  const { name, kind, pods } = workload;
  // Several bare pods may form one workload.
  const names = kind === "Pod" ? pods.map((pod) => pod.name) : [name];
  return { ...workload, ...names.map((each) => uses.get(each)).find((use) => use !== undefined) };
}

function statedTraffic(traffic: PairTraffic, { state }: OfflineCluster, namespace: string): StatedTraffic[] {
  // A declaration also says which end starts an exchange.
  const declared = new Set(
    state.declared
      .filter(({ source }) => source.namespace === namespace)
      .map(({ source, target }) => `${source.namespace}/${source.name} ${target.namespace}/${target.name}`),
  );
  return [...traffic.channels((source, target) => declared.has(`${source} ${target}`))].map(
    ({ source, target, bytesPerSecond }) => ({
      source: nameIn(source),
      target: nameIn(target),
      bytesPerSecond,
      statedIn: namespace,
    }),
  );
}

function nameIn(fullName: string): StatedTraffic["source"] {
  const slash = fullName.indexOf("/");
  return { namespace: fullName.slice(0, slash), name: fullName.slice(slash + 1) };
}

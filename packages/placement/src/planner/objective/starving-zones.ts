import type { Channel, ClusterGraph, RoutingScope } from "@isochrone/topology";
import {
  AreaLoads,
  areasOf,
  carriedMillicores,
  zoneScopes,
  type Occupation,
} from "../../zones/area-loads.ts";
import type { CostField } from "./cost-field.ts";
import type { NearestCost } from "./nearest-channel.ts";
import type { PlanProblem } from "./plan-problem.ts";
import { OVERLOAD_SHARE } from "./plan-settings.ts";
import type { ReplicaBook, Replicas } from "./replicas.ts";

/** CPU demand above the replicas' limits, millicores. */
export interface ZoneLack {
  readonly workload: string;
  readonly before: number;
  readonly after: number;
}

interface StarvingZonesOptions {
  readonly workload: string;
  readonly cluster: ClusterGraph;
  readonly field: CostField;
  readonly scopes: readonly RoutingScope[];
  readonly targets: Replicas;
  readonly callers: readonly CausingCallers[];
  readonly carriedMillicores: number;
  readonly price: number;
}

interface CausingCallers {
  readonly replicas: Replicas;
  /** CPU of the target caused by each caller. */
  readonly eachMillicores: number;
}

/** Attracts a new replica to the zone with the largest deficit, and callers to zones with room. */
export class StarvingZones implements NearestCost {
  readonly #options: StarvingZonesOptions;
  readonly #loads: AreaLoads;
  readonly #areaOfNode: Int32Array;
  readonly #fixed: Occupation;
  readonly #called: ReadonlySet<number>;
  readonly #causing = new Map<number, number>();

  constructor(options: StarvingZonesOptions) {
    const { field, scopes, targets, callers, carriedMillicores } = options;
    this.#options = options;
    const { areas, at } = areasOf(options.cluster);
    const areaOf = (location: number): number => at(field.id(location));
    this.#areaOfNode = Int32Array.from({ length: field.nodeCount }, (_, node) => areaOf(node));
    const targetAreas = targets.fixed.map(areaOf);
    const callerAreas = callers.map(({ replicas }) => replicas.fixed.map(areaOf));
    this.#fixed = emptyOccupation(areas.length);
    for (const area of targetAreas) this.#fixed.endpoints[area]!++;
    for (const [index, own] of callerAreas.entries())
      for (const area of own) this.#fixed.caused[area]! += callers[index]!.eachMillicores;
    this.#loads = new AreaLoads(areas, scopes, carriedMillicores);
    this.#called = new Set(targets.planned);
    for (const { replicas, eachMillicores } of callers)
      for (const pod of replicas.planned)
        this.#causing.set(pod, (this.#causing.get(pod) ?? 0) + eachMillicores);
  }

  concerns(pod: number): boolean {
    return this.#called.has(pod) || this.#causing.has(pod);
  }

  partners(): Iterable<never> {
    return [];
  }

  lack(assignment: Int32Array): ZoneLack {
    const without = assignment.slice();
    for (const pod of this.#called) without[pod] = -1;
    return {
      workload: this.#options.workload,
      before: this.#loads.excess(this.#occupation(without, -1)),
      after: this.#loads.excess(this.#occupation(assignment, -1)),
    };
  }

  total(assignment: Int32Array): number {
    return this.#costOf(this.#occupation(assignment, -1));
  }

  added(assignment: Int32Array, pod: number, node: number): number {
    const others = this.#occupation(assignment, pod);
    return this.#with(others, pod, this.#areaOfNode[node]!) - this.#costOf(others);
  }

  addTo(column: Float64Array, assignment: Int32Array, pod: number): void {
    const others = this.#occupation(assignment, pod);
    const before = this.#costOf(others);
    const added = Float64Array.from(
      others.endpoints.keys(),
      (area) => this.#with(others, pod, area) - before,
    );
    for (let node = 0; node < column.length; node++) column[node]! += added[this.#areaOfNode[node]!]!;
  }

  #with(others: Occupation, pod: number, area: number): number {
    this.#put(others, pod, area, 1);
    const cost = this.#costOf(others);
    this.#put(others, pod, area, -1);
    return cost;
  }

  #costOf(occupation: Occupation): number {
    return this.#options.price * this.#loads.excess(occupation);
  }

  #occupation(assignment: Int32Array, except: number): Occupation {
    const { caused, endpoints } = this.#fixed;
    const occupation = { caused: caused.slice(), endpoints: endpoints.slice() };
    for (const pod of this.#called)
      if (pod !== except && assignment[pod]! >= 0)
        occupation.endpoints[this.#areaOfNode[assignment[pod]!]!]!++;
    for (const [pod, millicores] of this.#causing)
      if (pod !== except && assignment[pod]! >= 0)
        occupation.caused[this.#areaOfNode[assignment[pod]!]!]! += millicores;
    return occupation;
  }

  #put({ caused, endpoints }: Occupation, pod: number, area: number, sign: 1 | -1): void {
    if (this.#called.has(pod)) endpoints[area]! += sign;
    caused[area]! += sign * (this.#causing.get(pod) ?? 0);
  }
}

interface StarvingInput {
  readonly field: CostField;
  readonly replicas: ReplicaBook;
  readonly rates: { readonly of: (channel: Channel) => number | null; readonly areKnown: boolean };
  readonly maxCpuUse: number;
}

/**
 * Returns one term for each workload with nearest-replica routing, known use and capacity, and a planned
 * replica or caller. Total excess costs as much as total node overload.
 */
export function starvingZones(problem: PlanProblem, input: StarvingInput): StarvingZones[] {
  if (!input.rates.areKnown || problem.replicaCpu === undefined) return [];
  const found: StarvingZones[] = [];
  for (const workload of problem.replicaCpu.keys()) {
    const zones = zonesOf(problem, workload, input);
    if (zones !== null) found.push(zones);
  }
  return found;
}

function zonesOf(problem: PlanProblem, workload: string, input: StarvingInput): StarvingZones | null {
  const { field, replicas, rates, maxCpuUse } = input;
  const { workflow, replicaCpu } = problem;
  const use = workflow.workload(workload)?.cpuMillicores ?? null;
  const carried = carriedMillicores(replicaCpu?.get(workload), use, maxCpuUse);
  const channels = workflow.channelsTo(workload);
  const scopes = zoneScopes(channels);
  const rate = channels.reduce((sum, channel) => sum + (rates.of(channel) ?? 0), 0);
  // Measured values refer to the replicas in the graph.
  const running = [...workflow.replicas(workload).values()].filter((node) => node !== null).length;
  const used = (use ?? 0) * running;
  if (carried === null || scopes === null || !(rate > 0) || !(used > 0)) return null;
  const callers = channels.map((channel) => {
    const callersOf = replicas.of(channel.source);
    return {
      replicas: callersOf,
      eachMillicores: (used * (rates.of(channel) ?? 0)) / rate / callersOf.count,
    };
  });
  const targets = replicas.of(workload);
  if (![targets, ...callers.map((each) => each.replicas)].some(({ planned }) => planned.length > 0))
    return null;
  const atMedian = rate * field.medianMs;
  const price = (OVERLOAD_SHARE * (atMedian > 0 ? atMedian : rate)) / used;
  return new StarvingZones({
    workload,
    cluster: problem.cluster,
    field,
    scopes,
    targets,
    callers,
    carriedMillicores: carried,
    price,
  });
}

function emptyOccupation(areas: number): Occupation {
  return { caused: new Float64Array(areas), endpoints: new Float64Array(areas) };
}

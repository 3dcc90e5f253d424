import { EventQueue } from "@isochrone/primitives/algorithms";
import type { Observation, PodMove } from "../../contenders/port.ts";
import type { Change, ModelSettings, Point, PointCluster } from "../../scenario/model.ts";
import type { Placement } from "../../contenders/port.ts";
import type { Testbed, Running, Stretch } from "../port.ts";
import { ClusterState } from "../cluster-state.ts";
import { observe } from "../observe.ts";
import { planOf } from "./plan.ts";
import type { Plan } from "./plan.ts";
import { Simulation } from "./simulation.ts";

/** Time from eviction to a ready replacement, as measured in the lab. */
export const REPLACE_MS = 1_500;

/** Queueing model of a workflow under load, without clock or processes. Deterministic per seed. */
export function createModelTestbed(settings: ModelSettings): Testbed {
  return {
    name: "model",
    describe: () => ({
      kind: "discrete-event queueing simulation",
      "overhead of a message, ms": settings.hopMs,
      "replacement of a pod, s": REPLACE_MS / 1000,
    }),
    start: (point, placement, seed, signal) => {
      signal.throwIfAborted();
      return Promise.resolve(new ModelRun(settings, point, placement, seed, signal));
    },
    close: () => Promise.resolve(),
  };
}

/** Interval at which a long simulation yields to the event loop. */
const SLICE_MS = 2_000;

export class ModelRun implements Running {
  readonly #hopMs: number;
  readonly #point: Point;
  readonly #plan: Plan;
  readonly #cluster: ClusterState;
  readonly #delayMs: Float64Array;
  readonly #simulation: Simulation;
  readonly #signal: AbortSignal;
  readonly #planned = new EventQueue();
  #endMs = 0;
  #observedMs = 0;
  #movesEndMs = 0;
  #observation: Observation | null = null;

  constructor(
    { hopMs }: ModelSettings,
    point: Point,
    placement: Placement,
    seed: number,
    signal: AbortSignal,
  ) {
    this.#hopMs = hopMs;
    this.#point = point;
    this.#signal = signal;
    this.#plan = planOf(point, placement);
    this.#cluster = new ClusterState(point.cluster);
    this.#delayMs = new Float64Array(point.cluster.nodes.length ** 2);
    this.#setDelays();
    this.#simulation = new Simulation({ plan: this.#plan, load: point.load, delayMs: this.#delayMs, seed });
  }

  beginChanges(): void {
    const fromMs = this.#endMs;
    for (const change of this.#point.changes)
      this.#planned.at(fromMs + change.atSeconds * 1000, () => this.#change(change));
  }

  async run(seconds: number): Promise<Stretch> {
    const simulation = this.#simulation;
    this.#endMs += seconds * 1000;
    this.#observedMs = simulation.nowMs;
    simulation.resetCounts();
    simulation.requests.openWindow(this.#endMs);
    await this.#runTo(this.#endMs, false);
    await this.#runTo(this.#endMs, true);
    this.#observation = this.#observe(simulation.nowMs - this.#observedMs);
    return simulation.requests.closeWindow();
  }

  observe(): Observation {
    if (this.#observation === null) throw new Error("there is nothing to observe before the first stretch");
    return this.#observation;
  }

  /** Bytes of the last interval, by node of caller and callee, row-major. */
  get bytesBetween(): Float64Array {
    return this.#simulation.counts.bytesBetween;
  }

  move(moves: readonly PodMove[]): Promise<void> {
    // An interval that waited for late answers ended late. The next one must keep its full length, moves
    // included.
    this.#endMs = Math.max(this.#endMs, this.#simulation.nowMs);
    let beginMs = Math.max(this.#simulation.nowMs, this.#movesEndMs);
    for (const { pod, to } of moves) {
      const index = this.#plan.podNames.indexOf(pod);
      const node = this.#cluster.index(to);
      if (index < 0) throw new RangeError(`a moved pod must be one of the workflow's, got ${pod}`);
      this.#planned.at(beginMs, () => this.#simulation.takeOut(index));
      beginMs += REPLACE_MS;
      this.#planned.at(beginMs, () => {
        if (this.#cluster.isUp(node)) this.#simulation.revive(index, node);
      });
    }
    this.#movesEndMs = beginMs;
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  async #runTo(endMs: number, settle: boolean): Promise<void> {
    const simulation = this.#simulation;
    for (;;) {
      const plannedMs = this.#planned.nextAt;
      const sliceMs = simulation.nowMs + SLICE_MS;
      const untilMs = Math.min(plannedMs, sliceMs);
      simulation.run(endMs, settle, untilMs);
      const over = simulation.nowMs >= endMs && !(settle && simulation.requests.openInWindow > 0);
      if (simulation.nowMs >= plannedMs) this.#planned.step();
      else if (over) return;
      else if (untilMs === sliceMs) {
        await new Promise((resolve) => setImmediate(resolve));
        this.#signal.throwIfAborted();
      }
    }
  }

  #change(change: Change): void {
    this.#cluster.apply(change);
    if (change.kind === "region-latency") this.#setDelays();
    else if (change.kind === "node-down") this.#killPodsOf(this.#cluster.index(change.node));
    else this.#setProbability(change);
  }

  #killPodsOf(node: number): void {
    for (let pod = 0; pod < this.#plan.podNames.length; pod++)
      if (this.#simulation.nodeOf(pod) === node) this.#simulation.kill(pod);
  }

  #setProbability({ caller, callee, probability }: Change & { kind: "call-probability" }): void {
    const { workloads } = this.#point.workflow;
    const edges = workloads.flatMap(({ name, calls }) =>
      calls.map((call) => ({ name, callee: call.callee })),
    );
    for (const [edge, each] of edges.entries())
      if (each.name === caller && each.callee === callee) this.#simulation.setProbability(edge, probability);
  }

  #setDelays(): void {
    const { rttMs } = this.#cluster;
    for (const [i, row] of rttMs.entries())
      for (const [j, rtt] of row.entries()) this.#delayMs[i * rttMs.length + j] = rtt / 2 + this.#hopMs;
  }

  #observe(elapsedMs: number): Observation {
    const { busyMs, sent, requests } = this.#simulation.counts;
    const { edgeBytes } = this.#plan;
    const cluster: PointCluster = this.#cluster.present();
    return observe(this.#point.workflow, cluster, {
      seconds: elapsedMs / 1000,
      userRequestsPerSecond: (sent * 1000) / elapsedMs,
      cpuSeconds: (workload) => busyMs[workload]! / 1000,
      requests: (edge) => requests[edge]!,
      bytes: (edge) => requests[edge]! * edgeBytes[edge]!,
    });
  }
}

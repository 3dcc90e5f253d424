import {
  DefaultScores,
  reasonsOf,
  SchedulingModel,
  unschedulableMessage,
  type ScorePlugin,
} from "@isochrone/placement";
import { nodeObject, podObject, serviceObject } from "../api-objects.ts";
import type { SchedulingRequest, WaitingPod } from "./port.ts";

/** Nodes in the model of kube-scheduler, updated with each placement. Each workload has a Service. */
export class ModelledCluster {
  readonly #model: SchedulingModel;
  readonly #scores: DefaultScores;

  constructor({ nodes, pods, placed }: SchedulingRequest) {
    this.#model = SchedulingModel.of({
      nodes: nodes.map(nodeObject),
      pods: placed.map(([pod, node]) => podObject(pod, pod.name, node)),
    });
    const workloads = new Set([...placed.map(([pod]) => pod), ...pods].map(({ workload }) => workload));
    this.#scores = new DefaultScores(this.#model, { services: [...workloads].map(serviceObject) });
  }

  /** Returns feasible nodes; if there are none, kube-scheduler's message. */
  feasible(pod: WaitingPod): { readonly nodes: readonly string[]; readonly message: string | null } {
    const object = podObject(pod, pod.name, null);
    const nodes: string[] = [];
    const reasons: string[] = [];
    for (const { name } of this.#model.nodes) {
      const rejection = this.#model.verdict(object, name);
      if (rejection === null) nodes.push(name);
      else reasons.push(...reasonsOf(rejection));
    }
    const message = nodes.length > 0 ? null : unschedulableMessage(this.#model.nodes.length, reasons);
    return { nodes, message };
  }

  totals(
    pod: WaitingPod,
    nodes: readonly string[],
    weights?: Readonly<Partial<Record<ScorePlugin, number>>>,
  ): Float64Array {
    return this.#scores.totals(podObject(pod, pod.name, null), nodes, weights);
  }

  place(pod: WaitingPod, node: string): void {
    this.#model.place(podObject(pod, pod.name, node), node);
  }
}

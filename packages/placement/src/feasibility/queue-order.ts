import { keyOf, type ApiObject } from "./objects/json.ts";
import type { JudgedTemplate } from "./filters/judged-template.ts";
import type { SchedulingModel } from "./scheduling-model.ts";
import type { Rejection } from "./objects/verdict.ts";

interface QueueInput {
  readonly model: SchedulingModel;
  readonly pods: readonly ApiObject[];
  /** Node index by pod, in the model and in the plan's problem; -1: no node. */
  readonly assignment: ArrayLike<number>;
}

interface QueueOrder {
  /** Node index by pod. Pods of one kind may have exchanged nodes. */
  readonly assignment: Int32Array;
  readonly steps: readonly QueueStep[];
}

export interface QueueStep {
  readonly pod: number;
  readonly node: number;
  /** Why the pod would be rejected at its turn; it then counts as unplaced. Null: admitted. */
  readonly rejection: Rejection | null;
  /**
   * Whether the pod must be bound before later pods are nominated: kube-scheduler counts nominated pods as
   * placed.
   */
  readonly before: boolean;
}

/** Limit of verdicts per pod in a search. */
const TRIES_PER_POD = 50;

/**
 * kube-scheduler takes pods by priority, then age, so a valid plan can be invalid half way. Exchanges nodes
 * among pods of one kind so that each is admitted, if possible.
 */
export function inQueueOrder({ model, pods, assignment }: QueueInput): QueueOrder {
  const putBack = model.without(pods.map(keyOf));
  const queue = new Queue(model, pods, assignment);
  try {
    const chosen = queue.search() ?? queue.greedy();
    return { assignment: chosen, steps: queue.steps(chosen) };
  } finally {
    for (const pod of pods) model.remove(keyOf(pod));
    putBack();
  }
}

class Queue {
  readonly #model: SchedulingModel;
  readonly #pods: readonly ApiObject[];
  readonly #planned: ArrayLike<number>;
  readonly #templates: readonly JudgedTemplate[];
  readonly #order: readonly number[];
  readonly #left = new Map<JudgedTemplate, number[]>();
  #tries: number;

  constructor(model: SchedulingModel, pods: readonly ApiObject[], planned: ArrayLike<number>) {
    this.#model = model;
    this.#pods = pods;
    this.#planned = planned;
    this.#templates = pods.map((pod) => model.template(pod));
    this.#order = [...pods.keys()]
      .filter((pod) => planned[pod]! >= 0)
      .sort((a, b) => this.#priority(b) - this.#priority(a) || a - b);
    this.#tries = TRIES_PER_POD * this.#order.length;
  }

  /** Finds an assignment with every step admitted. Null: none found. */
  search(): Int32Array | null {
    this.#reset();
    const assignment = Int32Array.from(this.#planned);
    return this.#searchFrom(0, assignment) ? assignment : null;
  }

  /** Best effort: a pod admitted nowhere keeps a node of its kind. */
  greedy(): Int32Array {
    this.#reset();
    const assignment = Int32Array.from(this.#planned);
    const rejected: number[] = [];
    for (const pod of this.#order) {
      const node = this.#admitting(pod)[0];
      if (node === undefined) rejected.push(pod);
      else {
        assignment[pod] = node;
        this.#put(pod, node);
      }
    }
    for (const pod of rejected) assignment[pod] = this.#left.get(this.#templates[pod]!)!.shift()!;
    return assignment;
  }

  steps(assignment: Int32Array): QueueStep[] {
    this.#reset();
    const alone = this.#order.map((pod) => {
      const rejection = this.#verdict(pod, assignment[pod]!);
      if (rejection === null) this.#model.place(this.#pods[pod]!, this.#name(assignment[pod]!));
      return rejection;
    });
    this.#reset();
    for (const pod of this.#order) this.#model.nominate(this.#pods[pod]!, this.#name(assignment[pod]!));
    const together = this.#order.map((pod, index) => {
      const rejection = this.#verdict(pod, assignment[pod]!);
      if (alone[index] === null) this.#model.place(this.#pods[pod]!, this.#name(assignment[pod]!));
      else this.#model.remove(keyOf(this.#pods[pod]!));
      return rejection;
    });
    return this.#order.map((pod, index) => ({
      pod,
      node: assignment[pod]!,
      rejection: alone[index]!,
      before: alone[index] === null && together[index] !== null,
    }));
  }

  #searchFrom(position: number, assignment: Int32Array): boolean {
    if (position === this.#order.length) return true;
    const pod = this.#order[position]!;
    for (const node of this.#admitting(pod)) {
      assignment[pod] = node;
      this.#put(pod, node);
      if (this.#searchFrom(position + 1, assignment)) return true;
      this.#takeBack(pod, node);
      if (this.#tries <= 0) return false;
    }
    return false;
  }

  /** Remaining nodes that admit the pod: those that keep the spread even first, then its own. */
  #admitting(pod: number): number[] {
    const template = this.#templates[pod]!;
    const nodes = [...new Set(this.#left.get(template))];
    this.#tries -= nodes.length;
    const { counts } = template.spread;
    const crowd = (node: number): number =>
      counts.reduce((sum, { counts, topology }) => sum + (counts[topology.domainOf[node]!] ?? 0), 0);
    const own = this.#planned[pod]!;
    return nodes
      .filter((node) => this.#verdict(pod, node) === null)
      .map((node) => ({ node, crowd: crowd(node) }))
      .sort((a, b) => a.crowd - b.crowd || Number(b.node === own) - Number(a.node === own))
      .map(({ node }) => node);
  }

  #verdict(pod: number, node: number): Rejection | null {
    return this.#model.verdict(this.#pods[pod]!, this.#name(node));
  }

  #put(pod: number, node: number): void {
    this.#model.place(this.#pods[pod]!, this.#name(node));
    const left = this.#left.get(this.#templates[pod]!)!;
    left.splice(left.indexOf(node), 1);
  }

  #takeBack(pod: number, node: number): void {
    this.#model.remove(keyOf(this.#pods[pod]!));
    this.#left.get(this.#templates[pod]!)!.push(node);
  }

  #reset(): void {
    for (const pod of this.#pods) this.#model.remove(keyOf(pod));
    this.#left.clear();
    for (const pod of this.#order) {
      const template = this.#templates[pod]!;
      this.#left.set(template, [...(this.#left.get(template) ?? []), this.#planned[pod]!]);
    }
  }

  #priority(pod: number): number {
    return this.#model.schedulingPod(this.#pods[pod]!).priority;
  }

  #name(node: number): string {
    return this.#model.nodes[node]!.name;
  }
}

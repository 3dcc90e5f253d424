// Simulates kube-scheduler's default profile. Breaks ties by name, so results are reproducible.
import { naturally } from "@isochrone/primitives";
import { keyOf, type ApiObject } from "../feasibility/objects/json.ts";
import { DefaultScores, type SelectingObjects } from "../feasibility/scores/default-scores.ts";
import { reasonsOf, unschedulableMessage } from "../feasibility/scores/search.ts";
import type { SchedulingModel } from "../feasibility/scheduling-model.ts";

export interface Unplaced {
  readonly pod: string;
  readonly reason: string;
}

interface UnplacedObject extends Unplaced {
  readonly object: ApiObject;
}

export class DefaultPlacing {
  readonly #model: SchedulingModel;
  readonly #scores: DefaultScores;
  readonly #nodes: readonly string[];

  constructor(model: SchedulingModel, objects: SelectingObjects) {
    this.#model = model;
    this.#scores = new DefaultScores(model, objects);
    this.#nodes = model.nodes.map(({ name }) => name).sort(naturally);
  }

  /** Places pods by descending priority. @returns pods that fit no node */
  place(pods: readonly ApiObject[]): UnplacedObject[] {
    const priority = (pod: ApiObject): number => this.#model.schedulingPod(pod).priority;
    return [...pods]
      .sort((a, b) => priority(b) - priority(a) || naturally(keyOf(a), keyOf(b)))
      .flatMap((pod) => this.#placeOne(pod));
  }

  #placeOne(pod: ApiObject): UnplacedObject[] {
    const rejections = this.#nodes.map((node) => this.#model.verdict(pod, node));
    const feasible = this.#nodes.filter((_, index) => rejections[index] === null);
    if (feasible.length === 0) {
      const reasons = rejections.flatMap((rejection) => (rejection === null ? [] : reasonsOf(rejection)));
      const reason = unschedulableMessage(this.#nodes.length, reasons);
      return [{ pod: keyOf(pod), reason, object: pod }];
    }
    const totals = this.#scores.totals(pod, feasible);
    this.#model.place(pod, feasible[totals.indexOf(Math.max(...totals))]!);
    return [];
  }
}

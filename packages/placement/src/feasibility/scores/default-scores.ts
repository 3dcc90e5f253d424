// Scores of kube-scheduler 1.35's default profile. Not modelled: preferred pod affinity, PreferNoSchedule
// taints and image locality.
import { controllerOf } from "../objects/owners.ts";
import { labelOf, namespaceOf, record, text, textMembers, type ApiObject } from "../objects/json.ts";
import { labelSelector, withLabels, type LabelSelector } from "../objects/selectors.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { preferredNodeScores } from "./affinity-scores.ts";
import { balancedAllocation, leastAllocated } from "./resource-scores.ts";
import { spreadScores } from "./spread-scores.ts";

const DEFAULT_PLUGIN_WEIGHTS = {
  NodeResourcesFit: 1,
  NodeResourcesBalancedAllocation: 1,
  PodTopologySpread: 2,
  NodeAffinity: 2,
} as const;
export type ScorePlugin = keyof typeof DEFAULT_PLUGIN_WEIGHTS;

/** Scores by plugin, then node: 0 to 100. */
type PluginScores = Readonly<Record<ScorePlugin, Float64Array>>;

/** Default spreading applies only to pods selected by one of these. */
export interface SelectingObjects {
  readonly services: Iterable<ApiObject>;
  readonly replicaSets?: Iterable<ApiObject>;
}

export class DefaultScores {
  readonly #model: SchedulingModel;
  readonly #services: readonly ApiObject[];
  readonly #replicaSets: ReadonlyMap<string, ApiObject>;

  constructor(model: SchedulingModel, { services, replicaSets = [] }: SelectingObjects) {
    this.#model = model;
    this.#services = [...services];
    this.#replicaSets = new Map(Array.from(replicaSets, (one) => [nameKey(one, one.metadata.name), one]));
  }

  byPlugin(pod: ApiObject, nodes: readonly string[]): PluginScores {
    const states = nodes.map((name) => this.#model.node(name)).filter((node) => node !== undefined);
    const read = this.#model.schedulingPod(pod);
    return {
      NodeResourcesFit: Float64Array.from(states, (node) => leastAllocated(read, node)),
      NodeResourcesBalancedAllocation: Float64Array.from(states, (node) => balancedAllocation(read, node)),
      PodTopologySpread: spreadScores(read, states, this.#selectorOf(pod), this.#model),
      NodeAffinity: preferredNodeScores(read, states),
    };
  }

  mostPreferred(pod: ApiObject, nodes: readonly string[]): string[] {
    const { NodeAffinity: scores } = this.byPlugin(pod, nodes);
    const most = Math.max(...scores);
    return nodes.filter((_, row) => scores[row] === most);
  }

  totals(
    pod: ApiObject,
    nodes: readonly string[],
    weights: Readonly<Partial<Record<ScorePlugin, number>>> = {},
  ): Float64Array {
    const scores = this.byPlugin(pod, nodes);
    const used = { ...DEFAULT_PLUGIN_WEIGHTS, ...weights };
    return Float64Array.from(
      nodes,
      (_, row) =>
        scores.NodeResourcesFit[row]! * used.NodeResourcesFit +
        scores.NodeResourcesBalancedAllocation[row]! * used.NodeResourcesBalancedAllocation +
        scores.PodTopologySpread[row]! * used.PodTopologySpread +
        scores.NodeAffinity[row]! * used.NodeAffinity,
    );
  }

  #selectorOf(pod: ApiObject): LabelSelector | null {
    const { labels } = this.#model.schedulingPod(pod).set;
    const wanted = this.#services
      .filter((service) => namespaceOf(service) === namespaceOf(pod))
      .map((service) => textMembers(record<{ selector?: unknown }>(service.spec).selector))
      .filter((selector) => {
        const entries = Object.entries(selector);
        return entries.length > 0 && entries.every(([key, value]) => labelOf(labels, key) === value);
      });
    const controller = controllerOf(pod);
    const replicaSet =
      controller?.kind === "ReplicaSet"
        ? this.#replicaSets.get(nameKey(pod, text(controller.name)))
        : undefined;
    const own =
      replicaSet === undefined
        ? null
        : labelSelector(record<{ selector?: unknown }>(replicaSet.spec).selector);
    const selector = withLabels(own ?? labelSelector({})!, Object.assign({}, ...wanted));
    return selector.matchesAll ? null : selector;
  }
}

function nameKey(object: ApiObject, name: string): string {
  return `${namespaceOf(object)}/${name}`;
}

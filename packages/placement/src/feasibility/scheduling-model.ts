import type { PodSpec } from "./objects/fields.ts";
import { isTerminating, keyOf, labelsOf, record, text, type ApiObject, type Labels } from "./objects/json.ts";
import { LabelSets } from "./objects/label-sets.ts";
import { JudgedTemplate } from "./filters/judged-template.ts";
import { NodeState } from "./objects/node-state.ts";
import { PlanNodes } from "./objects/plan-nodes.ts";
import { PlacedAntiAffinity } from "./filters/pod-affinity.ts";
import { Population } from "./filters/population.ts";
import { Replicas } from "./replicas.ts";
import { schedulingPod, templateKey, type SchedulingPod } from "./objects/scheduling-pod.ts";
import { staticKey, StaticVerdicts } from "./filters/static-verdicts.ts";
import { Topologies } from "./filters/topologies.ts";
import { unsupportedUses } from "./unsupported.ts";
import type { Rejection } from "./objects/verdict.ts";
import { Storage, type BoundVolumes, type StorageObjects } from "./filters/volumes.ts";

/** Raw objects. They must not change while the model is used. */
export interface ClusterObjects extends StorageObjects {
  readonly nodes: Iterable<ApiObject>;
  /** Placed pods, and pending ones with `status.nominatedNodeName`; others are ignored. */
  readonly pods: Iterable<ApiObject>;
  readonly namespaces?: Iterable<ApiObject>;
}

const MAX_TEMPLATES = 1_000;
/** Memory of all cached kinds, in four-byte words. */
const MAX_WORDS = 30_000_000;
const MAX_LABEL_SETS = 10_000;

/**
 * Predicts admission by kube-scheduler 1.35 with default plugins. Nodes, volumes and namespaces are fixed.
 */
export class SchedulingModel {
  readonly nodes: readonly NodeState[];
  readonly storage: Storage;
  readonly topologies: Topologies;
  readonly population = new Population();
  readonly replicas = new Replicas();
  readonly planNodes: PlanNodes;
  readonly placedAntiAffinity: PlacedAntiAffinity;
  readonly #byName: ReadonlyMap<string, NodeState>;
  #labelSets = new LabelSets();
  readonly #namespaces: ReadonlyMap<string, Labels>;
  readonly #nodeOf = new Map<string, NodeState>();
  readonly #claimUsers = new Map<string, number>();
  readonly #templates = new Map<string, JudgedTemplate>();
  readonly #staticVerdicts = new Map<string, StaticVerdicts>();
  #counting: JudgedTemplate[] = [];
  #words = 0;
  #judged = new WeakMap<ApiObject, { pod: SchedulingPod; template: JudgedTemplate }>();

  static of(objects: ClusterObjects): SchedulingModel {
    return new SchedulingModel(objects);
  }

  private constructor({ nodes, pods, namespaces = [], ...storage }: ClusterObjects) {
    this.nodes = Array.from(nodes, (node, index) => new NodeState(node, index));
    this.#byName = new Map(this.nodes.map((node) => [node.name, node]));
    this.#namespaces = new Map(Array.from(namespaces, (one) => [one.metadata.name, labelsOf(one)]));
    this.storage = new Storage(storage);
    this.topologies = new Topologies(this.nodes);
    this.planNodes = new PlanNodes(this.nodes);
    this.placedAntiAffinity = new PlacedAntiAffinity(this.topologies);
    for (const pod of pods) this.observe(pod);
  }

  /** Returns a model of new nodes, volumes and namespaces with this one's pods. */
  on(objects: Omit<ClusterObjects, "pods">): SchedulingModel {
    const model = new SchedulingModel({ ...objects, pods: [] });
    if (!haveSameLabels(model.#namespaces, this.#namespaces)) return model;
    model.#labelSets = this.#labelSets;
    for (const { name, pods, nominated } of this.nodes) {
      const node = model.#byName.get(name);
      if (node === undefined) continue;
      for (const pod of pods.values()) model.#add(pod, node);
      for (const pod of nominated.values()) model.#promise(pod, node);
    }
    return model;
  }

  node(name: string): NodeState | undefined {
    return this.#byName.get(name);
  }

  nodeOf(key: string): NodeState | undefined {
    return this.#nodeOf.get(key);
  }

  held(key: string): SchedulingPod | undefined {
    const node = this.#nodeOf.get(key);
    return node?.pods.get(key) ?? node?.nominated.get(key);
  }

  /**
   * Returns why the node rejects the pod, or null if it admits it. A pod already in the model counts twice:
   * remove it first.
   */
  verdict(pod: ApiObject, node: string): Rejection | null {
    const state = this.#byName.get(node);
    if (state === undefined) return { plugin: "NodeName", message: `node ${node} is not known` };
    const judged = this.#judge(pod);
    return judged.template.verdict(judged.pod, state);
  }

  unsupported(pod: ApiObject): readonly string[] {
    return this.#judge(pod).template.unsupported;
  }

  /** Places a pod without checks; moves it if it was elsewhere. Throws RangeError for an unknown node. */
  place(pod: ApiObject, node: string): void {
    const state = this.#byName.get(node);
    if (state === undefined) throw new RangeError(`node ${node} is not known`);
    this.#add(schedulingPod(pod, true, this.#context()), state);
  }

  /** Reserves a place as `status.nominatedNodeName` does. Throws RangeError for an unknown node. */
  nominate(pod: ApiObject, node: string): void {
    const state = this.#byName.get(node);
    if (state === undefined) throw new RangeError(`node ${node} is not known`);
    this.#promise(schedulingPod(pod, false, this.#context()), state);
  }

  /** Removes a pod or its nomination. @param podKey namespace/name @returns whether it existed */
  remove(podKey: string): boolean {
    const node = this.#nodeOf.get(podKey);
    if (node === undefined) return false;
    this.#nodeOf.delete(podKey);
    node.withdraw(podKey);
    const pod = node.pods.get(podKey);
    if (pod !== undefined) {
      node.delete(pod);
      this.#spread(pod, node, -1);
    }
    return true;
  }

  /** Applies a pod object's state: placed, nominated or neither. For a deleted object call {@link remove}. */
  observe(pod: ApiObject): void {
    const { phase, nominatedNodeName } = record(pod.status);
    const nodeName = text(record<PodSpec>(pod.spec).nodeName);
    const isNominated = nodeName === "" && !isTerminating(pod);
    const node = this.#byName.get(isNominated ? text(nominatedNodeName) : nodeName);
    if (node === undefined || phase === "Succeeded" || phase === "Failed") this.remove(keyOf(pod));
    else if (isNominated) this.#promise(schedulingPod(pod, false, this.#context()), node);
    else this.#add(schedulingPod(pod, true, this.#context()), node);
  }

  /** Removes pods temporarily. @param keys namespace/name @returns a function that restores them */
  without(keys: Iterable<string>): () => void {
    const taken: { readonly pod: SchedulingPod; readonly node: NodeState; readonly placed: boolean }[] = [];
    for (const key of keys) {
      const node = this.#nodeOf.get(key);
      const pod = this.held(key);
      if (node === undefined || pod === undefined) continue;
      taken.push({ pod, node, placed: node.pods.has(key) });
      this.remove(key);
    }
    return () => {
      for (const { pod, node, placed } of taken) {
        if (placed) this.#add(pod, node);
        else this.#promise(pod, node);
      }
    };
  }

  /** Pods of one template may exchange nodes. */
  template(pod: ApiObject): JudgedTemplate {
    return this.#judge(pod).template;
  }

  schedulingPod(pod: ApiObject): SchedulingPod {
    return this.#judge(pod).pod;
  }

  claimUsers(key: string): number {
    return this.#claimUsers.get(key) ?? 0;
  }

  staticVerdicts(pod: SchedulingPod, volumes: BoundVolumes): StaticVerdicts {
    // Volumes of an unsupported pod are unknown.
    if (volumes.volumes.length !== pod.claims.length) return new StaticVerdicts(pod, volumes, this.nodes);
    const key = staticKey(pod);
    let verdicts = this.#staticVerdicts.get(key);
    if (verdicts === undefined) {
      verdicts = new StaticVerdicts(pod, volumes, this.nodes);
      this.#staticVerdicts.set(key, verdicts);
    }
    return verdicts;
  }

  #add(pod: SchedulingPod, node: NodeState): void {
    this.remove(pod.key);
    node.add(pod);
    this.#nodeOf.set(pod.key, node);
    this.#spread(pod, node, 1);
  }

  #promise(pod: SchedulingPod, node: NodeState): void {
    this.remove(pod.key);
    node.promise(pod);
    this.#nodeOf.set(pod.key, node);
  }

  #spread(pod: SchedulingPod, node: NodeState, pods: 1 | -1): void {
    for (const claim of pod.claims) {
      const key = `${pod.set.namespace}/${claim}`;
      this.#claimUsers.set(key, this.claimUsers(key) + pods);
    }
    this.population.change(pod, node.index, pods);
    this.replicas.change(pod, node.index, pods);
    if (pod.antiAffinity.length > 0) this.placedAntiAffinity.change(pod, node.index, pods);
    for (const template of this.#counting) template.change(pod, node.index, pods);
  }

  #judge(pod: ApiObject): { pod: SchedulingPod; template: JudgedTemplate } {
    let judged = this.#judged.get(pod);
    if (judged === undefined) {
      this.#tidy();
      const read = schedulingPod(pod, false, this.#context());
      const reasons = unsupportedUses(pod, read, this.storage);
      const key = JSON.stringify([templateKey(read), reasons]);
      let template = this.#templates.get(key);
      if (template === undefined) {
        template = new JudgedTemplate(read, reasons, this);
        this.#templates.set(key, template);
        this.#words += template.words;
        if (template.isCounting) this.#counting.push(template);
      }
      judged = { pod: read, template };
      this.#judged.set(pod, judged);
    }
    return judged;
  }

  /** A long-lived model would otherwise keep every kind of pod that ever existed. */
  #tidy(): void {
    const isSmall = this.#templates.size < MAX_TEMPLATES && this.#words < MAX_WORDS;
    if (isSmall && this.#labelSets.size < MAX_LABEL_SETS + 2 * this.#nodeOf.size) return;
    this.#templates.clear();
    this.#words = 0;
    this.#staticVerdicts.clear();
    this.#counting = [];
    this.#judged = new WeakMap();
    this.#labelSets = new LabelSets();
    this.placedAntiAffinity.tidy();
  }

  #context(): { labelSets: LabelSets; namespaceLabels: (namespace: string) => Labels } {
    return {
      labelSets: this.#labelSets,
      namespaceLabels: (name) => this.#namespaces.get(name) ?? { "kubernetes.io/metadata.name": name },
    };
  }
}

function haveSameLabels(a: ReadonlyMap<string, Labels>, b: ReadonlyMap<string, Labels>): boolean {
  return a.size === b.size && JSON.stringify([...a]) === JSON.stringify([...b]);
}

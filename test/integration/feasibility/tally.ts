import type { KubernetesObject } from "@isochrone/kubernetes";
import type { SchedulingModel } from "@isochrone/placement";
import type { FilterPlugin } from "@isochrone/placement/testing";
import type { Asked } from "./testbed.ts";

type Json = Readonly<Record<string, unknown>>;
type NodeState = SchedulingModel["nodes"][number];

export class Tally {
  cases = 0;
  admissions = 0;
  /** Accepted nodes that the plugin had to check. */
  readonly passes = new Map<FilterPlugin, number>();
  readonly rejections = new Map<FilterPlugin, number>();
  /** The model accepts but kube-scheduler rejects, and vice versa. */
  readonly wrongYes: string[] = [];
  readonly wrongNo: string[] = [];
  readonly otherWords: string[] = [];

  get summary(): string {
    const both = [...this.rejections].map(
      ([plugin, no]) => `${plugin} ${no} no, ${this.passes.get(plugin) ?? 0} yes`,
    );
    return (
      `${this.cases} cases, ${this.admissions} nodes admit: ${both.join("; ")}. ` +
      `${this.wrongYes.length} wrong yes, ${this.wrongNo.length} wrong no, ${this.otherWords.length} for other reasons`
    );
  }

  add({ pod, finding }: Asked, model: SchedulingModel): void {
    this.cases++;
    const reasons = new Map<string, number>();
    for (const node of model.nodes) {
      const rejection = model.verdict(pod, node.name);
      const admitted = finding.admitted.has(node.name);
      const say = (): string =>
        `${describePod(pod)} on ${node.name}: ${rejection?.message ?? "yes"}; kube-scheduler: ${shown(finding.reasons)}`;
      if (rejection === null) {
        this.admissions++;
        for (const plugin of concerned(pod, node, model)) count(this.passes, plugin);
        if (!admitted) this.wrongYes.push(say());
      } else {
        count(this.rejections, rejection.plugin);
        for (const reason of rejection.message.split(", ")) count(reasons, reason);
        if (admitted) this.wrongNo.push(say());
      }
    }
    // kube-scheduler does not report the first reason for nodes excluded by matchFields.
    const isVague = [...finding.reasons.keys()].some((reason) => reason.includes("didn't satisfy plugin(s)"));
    if (!isVague && shown(reasons) !== shown(finding.reasons))
      this.otherWords.push(
        `${describePod(pod)}: ${shown(reasons)}; kube-scheduler: ${shown(finding.reasons)}`,
      );
  }
}

export function isAgreed({ pod, finding }: Asked, model: SchedulingModel): boolean {
  return model.nodes.every(({ name }) => (model.verdict(pod, name) === null) === finding.admitted.has(name));
}

function concerned({ spec = {} }: KubernetesObject, node: NodeState, model: SchedulingModel): FilterPlugin[] {
  const affinity = (spec["affinity"] ?? {}) as Json;
  const claims = JSON.stringify(spec["volumes"] ?? []);
  const constraints = JSON.stringify(spec["topologySpreadConstraints"] ?? []);
  const isZoned = node.labels["topology.kubernetes.io/zone"] !== undefined;
  const hasAntiAffine = model.nodes.some(({ pods }) =>
    [...pods.values()].some(({ antiAffinity }) => antiAffinity.length > 0),
  );
  const all: readonly (readonly [FilterPlugin, boolean])[] = [
    ["NodeUnschedulable", node.unschedulable],
    ["TaintToleration", node.taints.some(({ effect }) => effect !== "PreferNoSchedule")],
    ["NodeAffinity", spec["nodeSelector"] !== undefined || affinity["nodeAffinity"] !== undefined],
    ["NodePorts", JSON.stringify(spec).includes('"hostPort"')],
    ["NodeResourcesFit", JSON.stringify(spec).includes('"requests"')],
    ["VolumeRestrictions", claims.includes('"exclusive"')],
    ["NodeVolumeLimits", claims.includes('"csi-')],
    ["VolumeBinding", claims.includes('"ssd-only"') || claims.includes('"slots"')],
    ["VolumeZone", claims.includes('"zone-0') && isZoned],
    ["PodTopologySpread", constraints.includes('"DoNotSchedule"')],
    ["InterPodAffinity", "podAffinity" in affinity || "podAntiAffinity" in affinity || hasAntiAffine],
  ];
  return all.filter(([, concerns]) => concerns).map(([plugin]) => plugin);
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function shown(reasons: ReadonlyMap<string, number>): string {
  const texts = [...reasons].map(([reason, count]) => `${count} ${reason}`);
  return texts.sort().join(", ");
}

function describePod({ metadata, spec }: KubernetesObject): string {
  const { affinity, topologySpreadConstraints, tolerations, nodeSelector, volumes } = spec ?? {};
  const rules = { affinity, topologySpreadConstraints, tolerations, nodeSelector, volumes };
  return `${metadata.namespace}/${metadata.name} ${JSON.stringify(metadata.labels)} ${JSON.stringify(rules)}`;
}

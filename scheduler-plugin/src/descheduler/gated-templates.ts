import { gatesOf, LABELS, PLACEMENT_ENABLED, PLACEMENT_GATE, PLACEMENT_LABEL } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type {
  KubernetesObject,
  DeploymentSpec,
  ObjectMeta,
  PodSpec,
  PodTemplate,
} from "@isochrone/kubernetes";
import { exclusionOf } from "../webhook/gate-rules.ts";
import type { GateRules } from "../webhook/gate-rules.ts";

interface GatedTemplatesInput {
  readonly webhook: GateRules | null;
  readonly namespaces: readonly KubernetesObject[];
  readonly appGroups: readonly KubernetesObject[];
}

export function gatedTemplates(
  input: GatedTemplatesInput,
): (controller: KubernetesObject, namespace: string) => boolean {
  const { webhook } = input;
  const optedIn = new Set(
    input.namespaces
      .filter(({ metadata }) => metadata.labels?.[PLACEMENT_LABEL] === PLACEMENT_ENABLED)
      .map(({ metadata }) => metadata.name),
  );
  const appGroups = new Map(
    input.appGroups.map((group) => [
      `${group.metadata.namespace ?? "default"}/${group.metadata.name}`,
      group,
    ]),
  );
  return (controller, namespace) => {
    const pod = podOf(controller, namespace);
    if (gatesOf(pod).includes(PLACEMENT_GATE)) return true;
    if (webhook === null) return false;
    const group = pod.metadata.labels?.[LABELS.appGroup];
    const appGroup = group === undefined ? null : (appGroups.get(`${namespace}/${group}`) ?? null);
    const entry = optedIn.has(namespace) ? "namespace" : "pod";
    return exclusionOf({ pod, namespace, entry, appGroup }, webhook) === null;
  };
}

function podOf({ kind, metadata, spec = {} }: KubernetesObject, namespace: string): KubernetesObject {
  const template = looseFields<PodTemplate>(looseFields<DeploymentSpec>(spec).template);
  const { labels } = looseFields<ObjectMeta>(template.metadata);
  const owner = {
    apiVersion: "apps/v1",
    kind,
    name: metadata.name,
    uid: metadata.uid ?? "",
    controller: true,
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: metadata.name,
      namespace,
      labels: looseFields(labels) as Record<string, string>,
      ownerReferences: [owner],
    },
    spec: { ...looseFields<PodSpec>(template.spec) },
  };
}

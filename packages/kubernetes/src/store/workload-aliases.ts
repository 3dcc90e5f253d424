import { looseFields } from "@isochrone/primitives";
import { KINDS, type DeploymentSpec, type ObjectMeta, type PodTemplate } from "../kinds.ts";
import type { KubernetesObject } from "./port.ts";
import { workloadOf } from "./workloads.ts";

const ISTIO_WORKLOAD_NAME = "service.istio.io/workload-name";
const SERVICE_NAME_ANNOTATION = "resource.opentelemetry.io/service.name";

/** Sources of a service name: Istio's canonical service, OpenTelemetry's `service.name`, Hubble's app. */
const SERVICE_LABELS: readonly string[] = [
  "service.istio.io/canonical-name",
  "app.kubernetes.io/instance",
  "app.kubernetes.io/name",
  "app",
  "k8s-app",
];

export const ALIAS_LABELS: readonly string[] = [ISTIO_WORKLOAD_NAME, ...SERVICE_LABELS];
export const ALIAS_ANNOTATIONS: readonly string[] = [SERVICE_NAME_ANNOTATION];

/** A numeric suffix: OpenTelemetry takes such a Job for a CronJob's. */
const NUMBERED = /^(.+)-\d+$/;

interface WorkloadAliases {
  /** Names of the workload in meshes and owner attributes. */
  readonly workload: readonly string[];
  /** Names of the services in traces and flows. */
  readonly service: readonly string[];
}

/** Aliases of a pod's workload, or null. A ReplicaSet's name isn't an alias: no source uses it. */
export function podAliases(
  pod: KubernetesObject,
  workload: ReturnType<typeof workloadOf>,
): WorkloadAliases | null {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const isOther = owner !== undefined && owner.kind !== "Pod" && owner.kind !== "Node";
  const controller = isOther && workload.kind !== KINDS.deployment.kind ? owner.name : null;
  const numbered = owner?.kind === KINDS.job.kind ? (NUMBERED.exec(owner.name)?.[1] ?? null) : null;
  return aliasesOf(pod.metadata, workload.name, { workload: controller, service: numbered });
}

export function templateAliases({ metadata, spec }: KubernetesObject): WorkloadAliases | null {
  const { template } = looseFields<DeploymentSpec>(spec);
  const { labels, annotations } = looseFields<ObjectMeta>(looseFields<PodTemplate>(template).metadata);
  const texts = { labels: looseFields(labels), annotations: looseFields(annotations) };
  return aliasesOf(texts, metadata.name, { workload: null, service: null });
}

interface Texts {
  readonly labels?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

function aliasesOf(
  { labels, annotations }: Texts,
  own: string,
  more: { readonly workload: string | null; readonly service: string | null },
): WorkloadAliases | null {
  const workload = [labels?.[ISTIO_WORKLOAD_NAME], more.workload];
  const service = [
    annotations?.[SERVICE_NAME_ANNOTATION],
    ...SERVICE_LABELS.map((label) => labels?.[label]),
    more.service,
  ];
  const found = { workload: namesIn(workload, own), service: namesIn(service, own) };
  return found.workload.length + found.service.length === 0 ? null : found;
}

const NO_NAMES: readonly string[] = [];

function namesIn(names: readonly unknown[], own: string): readonly string[] {
  let found = NO_NAMES;
  for (const name of names)
    if (typeof name === "string" && name !== "" && name !== own && !found.includes(name))
      found = [...found, name];
  return found;
}

/**
 * All names that Istio may use: the controller's, the pod's own if its controller chose it, and the label's.
 * The label is the pod's own claim, as is a bare pod's name.
 */
export function meshNames(pod: KubernetesObject): readonly string[] {
  const workload = workloadOf(pod);
  const { name, generateName } = pod.metadata;
  const isNamed = generateName === undefined || generateName === "";
  return [
    ...new Set([
      workload.name,
      ...(podAliases(pod, workload)?.workload ?? NO_NAMES),
      ...(isNamed ? [name] : NO_NAMES),
    ]),
  ];
}

// Fields of a Deployment or StatefulSet that plans read: replicas, rollout state and pod template.
import { conditionsOf, KINDS, pickedFields, templateLabels, withoutLastApplied } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type {
  Container,
  DeploymentSpec,
  KubernetesObject,
  PodSpec,
  PodTemplate,
} from "@isochrone/kubernetes";
import type { LooseFields } from "@isochrone/primitives";
import { identifyPod } from "../../domain/pod.ts";

export interface WorkloadState {
  readonly uid: string;
  readonly isDeployment: boolean;
  readonly namespace: string;
  readonly name: string;
  readonly workflow: string;
  readonly generation: number | undefined;
  readonly replicas: number;
  readonly isUpcoming: boolean;
  /** True if its rollout continues: neither paused nor failed. */
  readonly replaces: boolean;
  /** Revision of a StatefulSet's newest pods; null if it replaces none. */
  readonly revision: string | null;
  readonly partition: number;
  readonly firstOrdinal: number;
  readonly claims: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly podSpec: LooseFields;
  readonly progress: string;
}

interface SpecFields extends DeploymentSpec {
  readonly volumeClaimTemplates: unknown;
  readonly updateStrategy: unknown;
  readonly ordinals: unknown;
}

export function trimmedWorkload({
  apiVersion,
  kind,
  metadata,
  ...object
}: KubernetesObject): KubernetesObject {
  const spec = looseFields<SpecFields>(object.spec);
  const template = looseFields<PodTemplate>(spec.template);
  const podSpec = looseFields<PodSpec>(template.spec);
  const { labels } = looseFields<Record<"labels", unknown>>(template.metadata);
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: {
      ...pickedFields(looseFields(object.spec), ["replicas", "paused", "updateStrategy", "ordinals"]),
      volumeClaimTemplates: looseList<Record<"metadata", unknown>>(spec.volumeClaimTemplates).map(
        (claim) => ({
          metadata: { name: looseFields<Record<"name", unknown>>(claim.metadata).name },
        }),
      ),
      ...(spec.template === undefined
        ? {}
        : {
            template: {
              metadata: { labels },
              spec: {
                ...podSpec,
                containers: looseList<Container>(podSpec.containers).map(trimmedContainer),
                ...(podSpec.initContainers === undefined
                  ? {}
                  : { initContainers: looseList<Container>(podSpec.initContainers).map(trimmedContainer) }),
              },
            },
          }),
    },
    status: {
      ...pickedFields(looseFields(object.status), STATUS),
      conditions: conditionsOf(object)
        .filter(({ type }) => type === "Progressing")
        .map(({ type, status, reason }) => ({ type, status, reason })),
    },
  };
}

const STATUS = [
  "replicas",
  "updatedReplicas",
  "readyReplicas",
  "availableReplicas",
  "updateRevision",
  "currentRevision",
] as const;

function trimmedContainer(container: LooseFields): LooseFields {
  return pickedFields(container, ["name", "resources", "ports", "restartPolicy"]);
}

/** Returns null without a template or a number of replicas. */
export function workloadState(object: KubernetesObject): WorkloadState | null {
  const { kind, metadata } = object;
  const spec = looseFields<SpecFields>(object.spec);
  const { replicas, template, paused } = spec;
  if (typeof replicas !== "number" || template === undefined) return null;
  const { spec: ofPods } = looseFields<PodTemplate>(template);
  const status = looseFields<Record<(typeof STATUS)[number], unknown>>(object.status);
  const isDeployment = kind === KINDS.deployment.kind;
  const { name, namespace = "default", uid = "" } = metadata;
  const labels = templateLabels(object.spec);
  const { namespace: of, workflow } = identifyPod({ metadata: { name, namespace, labels } });
  const isStuck = conditionsOf(object).some((each) => each.type === "Progressing" && each.status === "False");
  const { type, rollingUpdate } = looseFields<Record<"rollingUpdate" | "type", unknown>>(spec.updateStrategy);
  const { partition } = looseFields<Record<"partition", unknown>>(rollingUpdate);
  const { start } = looseFields<Record<"start", unknown>>(spec.ordinals);
  const revision = type === "OnDelete" ? null : status.updateRevision;
  return {
    uid,
    isDeployment,
    namespace,
    name,
    workflow: `${of}/${workflow}`,
    generation: metadata.generation,
    replicas,
    isUpcoming: (status.replicas ?? 0) === 0 && paused !== true,
    replaces: paused !== true && !isStuck,
    revision: !isDeployment && typeof revision === "string" ? revision : null,
    partition: typeof partition === "number" ? partition : 0,
    firstOrdinal: typeof start === "number" ? start : 0,
    claims: looseList<Record<"metadata", unknown>>(spec.volumeClaimTemplates).map((claim) =>
      String(looseFields<Record<"name", unknown>>(claim.metadata).name),
    ),
    labels,
    podSpec: looseFields(ofPods),
    progress: JSON.stringify(STATUS.map((field) => status[field])),
  };
}

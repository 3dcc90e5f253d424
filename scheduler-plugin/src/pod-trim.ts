import { LABELS, pickedFields, PLACEMENT_LABEL, WEBHOOK_ANSWER } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type { Container, ContainerStatus, KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";
import { trimmedPod } from "./adapters/observed-pod.ts";
import type { ClusterPodsOptions } from "./adapters/cluster-pods.ts";
import { movablePod } from "./descheduler/movable-pods.ts";
import type { DeschedulerConfig } from "./descheduler/decision/settings.ts";
import type { DispatchConfig } from "./dispatch/settings.ts";
import { DELETION_COST_ANNOTATIONS } from "./dispatch/replicas/surplus-pods.ts";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import { plannerPod } from "./planner/adapters/planner-pods.ts";
import type { PlannerConfig } from "./planner/settings.ts";
import { proposalsOf } from "./proposals/config.ts";
import type { ProposalsConfig } from "./proposals/config.ts";
import type { StreamsConfig } from "./streams/settings.ts";
import { STREAM_PROFILE_LABEL } from "./streams/profiling/profile-pod.ts";
import { STREAM_JOB_LABEL } from "./streams/task-pod.ts";
import { MIRROR } from "./webhook/gate-rules.ts";
import type { WebhookConfig } from "./webhook/settings.ts";

interface PodReaders {
  readonly planner?: PlannerConfig;
  readonly descheduler?: DeschedulerConfig;
  readonly proposals?: ProposalsConfig;
  readonly webhook?: WebhookConfig;
  readonly streams?: StreamsConfig;
  readonly dispatch?: DispatchConfig;
  readonly hasCosts?: boolean;
}

type Trim = NonNullable<ClusterPodsOptions["trim"]>;

/** Moves and proposals need more fields per pod than plans, and other parts few. */
export function trimOf({ webhook, ...readers }: PodReaders): Pick<ClusterPodsOptions, "trim"> {
  let trim = trimOfPlans(readers);
  const { streams, dispatch, hasCosts } = readers;
  if (dispatch?.levers.includes("replicas") === true) {
    const kept = trim ?? trimmedPod;
    const names = new Map<string, string>();
    trim = (pod) => withImages(pod, kept(pod), names);
  }
  if (hasCosts === true) {
    const kept = trim ?? trimmedPod;
    trim = (pod) => withCosts(pod, kept(pod));
  }
  if (streams?.enabled === true) {
    const kept = trim ?? plannerPod;
    trim = (pod) => withStreams(pod, kept(pod));
  }
  if (webhook?.enabled !== true) return trim === null ? {} : { trim };
  return { trim: (pod) => withAnswer(pod, (trim ?? trimmedPod)(pod)) };
}

function trimOfPlans({ planner, descheduler, proposals }: Omit<PodReaders, "webhook">): Trim | null {
  if (descheduler !== undefined && descheduler.mode !== "off") return movablePod;
  if (proposals !== undefined || proposalsOf(planner) !== null) return movablePod;
  return planner?.enabled === true ? plannerPod : null;
}

/** Flows need pod addresses, profiles the first container. */
function withStreams(pod: KubernetesObject, kept: KubernetesObject): KubernetesObject {
  const { labels = {} } = pod.metadata;
  const isTimed = labels[STREAM_JOB_LABEL] !== undefined || labels[STREAM_PROFILE_LABEL] !== undefined;
  if (kept === pod || !(isTimed || labels[LABELS.appGroup] !== undefined)) return kept;
  const [container] = looseList<Container>(looseFields<PodSpec>(pod.spec).containers);
  const { containerStatuses, ...status } = looseFields<PodStatus>(pod.status);
  const first = looseList<ContainerStatus>(containerStatuses).filter(({ name }) => name === container?.name);
  return {
    ...kept,
    status: {
      ...kept.status,
      ...pickedFields(status, isTimed ? ["podIP", "reason", "message"] : ["podIP"]),
      ...(isTimed && first.length > 0 ? { containerStatuses: first } : {}),
    },
  };
}

/**
 * Adds fields for replica cost and deletion order.
 * @param names interned images: many pods share them
 */
function withImages(
  pod: KubernetesObject,
  kept: KubernetesObject,
  names: Map<string, string>,
): KubernetesObject {
  if (kept === pod) return pod;
  const images = looseList<Container>(looseFields<PodSpec>(pod.spec).containers).map(({ image }) => {
    if (typeof image !== "string") return null;
    if (!names.has(image)) names.set(image, image);
    return names.get(image)!;
  });
  const { annotations } = kept.metadata;
  const costs = pickedFields(pod.metadata.annotations ?? {}, PLACE_ANNOTATIONS);
  return {
    ...kept,
    metadata: {
      ...kept.metadata,
      ...(Object.keys(costs).length === 0 ? {} : { annotations: { ...annotations, ...costs } }),
    },
    spec: {
      ...kept.spec,
      containers: looseList(kept.spec?.containers).map((container, at) => ({
        ...container,
        image: images[at],
      })),
    },
  };
}

function withCosts(pod: KubernetesObject, kept: KubernetesObject): KubernetesObject {
  const costs = pickedFields(pod.metadata.annotations ?? {}, DELETION_COST_ANNOTATIONS);
  if (kept === pod || Object.keys(costs).length === 0) return kept;
  return {
    ...kept,
    metadata: { ...kept.metadata, annotations: { ...kept.metadata.annotations, ...costs } },
  };
}

const PLACE_ANNOTATIONS = [PLANNED_NODE_ANNOTATION, ...DELETION_COST_ANNOTATIONS];

/** Adds fields that tell whether the webhook should have answered, and did. */
function withAnswer(pod: KubernetesObject, kept: KubernetesObject): KubernetesObject {
  if (kept === pod) return pod;
  const { labels, annotations } = kept.metadata;
  const asking = pickedFields(pod.metadata.labels ?? {}, ASKING_LABELS);
  const answer = pickedFields(pod.metadata.annotations ?? {}, ANSWER_ANNOTATIONS);
  return {
    ...kept,
    metadata: {
      ...kept.metadata,
      labels: { ...labels, ...asking },
      annotations: { ...annotations, ...answer },
    },
    spec: { ...kept.spec, ...pickedFields(pod.spec ?? {}, ASKING_FIELDS) },
  };
}

const ASKING_LABELS = [PLACEMENT_LABEL, LABELS.appGroup];
const ANSWER_ANNOTATIONS = [WEBHOOK_ANSWER, MIRROR];
const ASKING_FIELDS = ["schedulerName", "priorityClassName", "schedulingGates"];

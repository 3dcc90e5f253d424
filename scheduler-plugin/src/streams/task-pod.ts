import { createHash } from "node:crypto";
import { KINDS, STREAM_GATE, STREAM_TASK_LABEL } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type { Affinity, Container, KubernetesObject, PodSpec, Unchecked } from "@isochrone/kubernetes";
import type { JobDefinition } from "@isochrone/streams";

/** Label of pods: the StreamJob of their namespace that they belong to. */
export const STREAM_JOB_LABEL = "isochrone.dev/stream-job";
/** Label of all pods of a StreamJob: the task whose template they are made of. Admission compares the two. */
export const STREAM_TEMPLATE_LABEL = "isochrone.dev/stream-template";

interface TaskPodOptions {
  readonly job: KubernetesObject;
  readonly definition: JobDefinition;
  readonly task: string;
  readonly node: string | null;
  readonly isGated: boolean;
}

const HASH_CHARACTERS = 8;

/** Deterministic, so that a second creation fails. StreamJob's limits keep it within 253 characters. */
export function podNameOf(job: KubernetesObject, task: string, node: string): string {
  const { name, uid = "" } = job.metadata;
  const hash = createHash("sha256").update(`${uid}\n${node}`).digest("hex").slice(0, HASH_CHARACTERS);
  return `${name}-${task}-${hash}`;
}

export function taskPod({ job, definition, task, node, isGated }: TaskPodOptions): KubernetesObject {
  const template = looseFields<KubernetesObject>(definition.tasks.get(task)!.template);
  const { labels, annotations } = looseFields<KubernetesObject["metadata"]>(template.metadata);
  const spec = looseFields<PodSpec>(template.spec);
  const { namespace = "default", name, uid = "" } = job.metadata;
  const { cpu, memory } = requestsOf(job, task);
  return {
    ...KINDS.pod,
    metadata: {
      namespace,
      name: podNameOf(job, task, node ?? ""),
      labels: {
        ...textFields(labels),
        [STREAM_JOB_LABEL]: name,
        [STREAM_TASK_LABEL]: task,
        [STREAM_TEMPLATE_LABEL]: task,
      },
      ...(annotations === undefined ? {} : { annotations: textFields(annotations) }),
      ownerReferences: [{ apiVersion: job.apiVersion, kind: job.kind, name, uid, controller: true }],
    },
    spec: {
      ...spec,
      // With a headless Service of the job's name, TASK.JOB.NAMESPACE.svc is the pod.
      hostname: spec.hostname ?? task,
      subdomain: spec.subdomain ?? name,
      containers: looseList<Container>(spec.containers).map((container, at) =>
        at === 0 ? withRequests(container, { cpu, memory }) : container,
      ),
      ...(node === null ? {} : { affinity: boundTo(node, spec.affinity) }),
      ...(isGated ? { schedulingGates: [...looseList(spec.schedulingGates), { name: STREAM_GATE }] } : {}),
    },
  };
}

function requestsOf(
  job: KubernetesObject,
  task: string,
): { readonly cpu: unknown; readonly memory: unknown } {
  const { tasks } = looseFields<{ tasks: unknown }>(job.spec);
  const found = looseList<{ name: string; requests: unknown }>(tasks).find(({ name }) => name === task);
  const { cpu, memory } = looseFields<{ cpu: unknown; memory: unknown }>(found?.requests);
  return { cpu, memory };
}

function withRequests(container: Unchecked<Container>, requests: object): object {
  const resources = looseFields<NonNullable<Container["resources"]>>(container.resources);
  return {
    ...container,
    resources: { ...resources, requests: { ...requests, ...looseFields(resources.requests) } },
  };
}

/** Like the DaemonSet controller: kube-scheduler considers only this node. */
function boundTo(node: string, affinity: unknown): object {
  const own = looseFields<Affinity>(affinity);
  const nodeAffinity = looseFields<NonNullable<Affinity["nodeAffinity"]>>(own.nodeAffinity);
  const rule = "requiredDuringSchedulingIgnoredDuringExecution";
  const { nodeSelectorTerms } = looseFields<{ nodeSelectorTerms: unknown }>(nodeAffinity[rule]);
  const terms = looseList<{ matchFields: unknown }>(nodeSelectorTerms);
  const field = { key: "metadata.name", operator: "In", values: [node] };
  // Terms are alternatives, so each one gets the node.
  const bound = (terms.length === 0 ? [{}] : terms).map((term: { matchFields?: unknown }) => ({
    ...term,
    matchFields: [...looseList(term.matchFields), field],
  }));
  return { ...own, nodeAffinity: { ...nodeAffinity, [rule]: { nodeSelectorTerms: bound } } };
}

function textFields(fields: unknown): Record<string, string> {
  const texts = Object.entries(looseFields(fields)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}

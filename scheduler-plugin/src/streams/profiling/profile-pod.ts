// Builds a profiling pod: the task's pod with the job's profiling command.
import { createHash } from "node:crypto";
import { looseFields, looseList } from "@isochrone/primitives";
import type { Container, KubernetesObject, PodSpec, Unchecked } from "@isochrone/kubernetes";
import type { JobDefinition } from "@isochrone/streams";
import { podNameOf, STREAM_TEMPLATE_LABEL, taskPod } from "../task-pod.ts";

interface ProfiledJob {
  readonly object: KubernetesObject;
  readonly definition: JobDefinition;
}

/** Label of profiling pods: the StreamJob of their namespace. Services of the job don't select them. */
export const STREAM_PROFILE_LABEL = "isochrone.dev/stream-profile";

const DEADLINE_SECONDS = 300;
const WORK_CHARACTERS = 16;

/** Digest of the pod without job and node, by profiled task. Equal digests share measurements. */
export function worksOf(job: ProfiledJob): Map<string, string> {
  const works = new Map<string, string>();
  for (const [task, { profiling }] of job.definition.tasks) {
    if (profiling === null) continue;
    const { spec } = profilePod(job, task, null, "");
    const hash = createHash("sha256").update(JSON.stringify(spec)).digest("hex");
    works.set(task, hash.slice(0, WORK_CHARACTERS));
  }
  return works;
}

/** Deterministic per job, task and kind of node. */
export function profilePodName({ object }: ProfiledJob, task: string, kind: string): string {
  return podNameOf(object, `${task}-profile`, kind);
}

export function profilePod(
  job: ProfiledJob,
  task: string,
  node: string | null,
  name: string,
): KubernetesObject {
  const { object, definition } = job;
  const pod = taskPod({ job: object, definition, task, node, isGated: false });
  const { command, args } = definition.tasks.get(task)!.profiling!;
  const { hostname: _, subdomain: __, hostNetwork: ___, ...spec } = looseFields<PodSpec>(pod.spec);
  const containers = looseList<Container>(spec.containers).map(quiet);
  const [first, ...others] = containers;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name,
      labels: { [STREAM_PROFILE_LABEL]: object.metadata.name, [STREAM_TEMPLATE_LABEL]: task },
    },
    spec: {
      ...spec,
      restartPolicy: "Never",
      activeDeadlineSeconds: DEADLINE_SECONDS,
      containers: [
        {
          ...withLimit(first ?? {}),
          ...(command === null ? {} : { command }),
          ...(args === null ? {} : { args }),
          terminationMessagePolicy: "File",
        },
        ...others,
      ],
    },
  };
}

/** Drops host ports, which may be taken, and probes. */
function quiet(container: Unchecked<Container>): Unchecked<Container> {
  const {
    ports: _,
    lifecycle: __,
    livenessProbe: ___,
    readinessProbe: ____,
    startupProbe: _____,
    ...kept
  } = container;
  return kept;
}

/** Limits CPU to the task's request. */
function withLimit(container: Unchecked<Container>): Unchecked<Container> {
  const resources = looseFields<NonNullable<Container["resources"]>>(container.resources);
  const { cpu } = looseFields<Record<"cpu", unknown>>(resources.requests);
  return { ...container, resources: { ...resources, limits: { cpu, ...looseFields(resources.limits) } } };
}

// StreamJobs as they were read last, each version once.
import { keyOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { FieldError, readJobDefinition, type JobDefinition } from "@isochrone/streams";
import { worksOf } from "./profiling/profile-pod.ts";
import { taskPod } from "./task-pod.ts";

/** A StreamJob whose spec could be read. */
export interface KnownJob {
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly object: KubernetesObject;
  readonly definition: JobDefinition;
  /** Wall milliseconds. */
  readonly createdMs: number;
  /** By task: what filters judge. */
  readonly samples: ReadonlyMap<string, KubernetesObject>;
  /** By task that is profiled: what its profiling pod does. */
  readonly works: ReadonlyMap<string, string>;
}

interface Read {
  readonly generation: number | undefined;
  /** A text: why it can't be read. */
  readonly result: Pick<KnownJob, "definition" | "samples" | "works"> | string;
}

export class KnownJobs {
  readonly #read = new Map<string, Read>();

  /** A text says why the spec can't be read. */
  of(object: KubernetesObject): KnownJob | string {
    const { uid = "", generation, creationTimestamp = "" } = object.metadata;
    let read = this.#read.get(uid);
    if (read === undefined || read.generation !== generation)
      this.#read.set(uid, (read = { generation, result: resultOf(object) }));
    if (typeof read.result === "string") return read.result;
    const createdMs = Date.parse(creationTimestamp);
    return {
      key: keyOf(object),
      uid,
      object,
      createdMs: Number.isNaN(createdMs) ? 0 : createdMs,
      ...read.result,
    };
  }

  /** Forgets those that aren't among these. @param uids of StreamJobs */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#read.keys()) if (!uids.has(uid)) this.#read.delete(uid);
  }
}

function resultOf(object: KubernetesObject): Read["result"] {
  try {
    const definition = readJobDefinition(keyOf(object), object.spec);
    for (const [at, { name, template }] of [...definition.tasks.values()].entries())
      if (template === null)
        throw new FieldError(
          ["spec", "tasks", at, "template"],
          `of task ${name} must be a pod template`,
          template,
        );
    const samples = [...definition.tasks.keys()].map((task): [string, KubernetesObject] => [
      task,
      taskPod({ job: object, definition, task, node: null, isGated: false }),
    ]);
    return { definition, samples: new Map(samples), works: worksOf({ object, definition }) };
  } catch (error) {
    if (error instanceof FieldError) return error.message;
    throw error;
  }
}

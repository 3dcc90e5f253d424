// Parsed StreamJobs, each version once.
import { keyOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";
import { FieldError, readJobDefinition, type JobDefinition } from "@isochrone/streams";
import { worksOf } from "./profiling/profile-pod.ts";
import { taskPod } from "./task-pod.ts";

export interface KnownJob {
  readonly key: string;
  readonly uid: string;
  readonly object: KubernetesObject;
  readonly definition: JobDefinition;
  /** Wall clock of the API server. */
  readonly createdMs: number;
  /** Time since first sight: machines' clocks differ and step. */
  readonly knownMs: number;
  readonly samples: ReadonlyMap<string, KubernetesObject>;
  readonly works: ReadonlyMap<string, string>;
}

interface Read {
  readonly sinceMs: number;
  readonly generation: number | undefined;
  readonly result: Pick<KnownJob, "definition" | "samples" | "works"> | string;
}

export class KnownJobs {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #read = new Map<string, Read>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  of(object: KubernetesObject): KnownJob | string {
    const { uid = "", generation, creationTimestamp = "" } = object.metadata;
    const nowMs = this.#clock.monotonic();
    let read = this.#read.get(uid);
    if (read === undefined || read.generation !== generation) {
      const sinceMs = read?.sinceMs ?? nowMs;
      this.#read.set(uid, (read = { sinceMs, generation, result: resultOf(object) }));
    }
    if (typeof read.result === "string") return read.result;
    const createdMs = Date.parse(creationTimestamp);
    return {
      key: keyOf(object),
      uid,
      object,
      createdMs: Number.isNaN(createdMs) ? 0 : createdMs,
      knownMs: nowMs - read.sinceMs,
      ...read.result,
    };
  }

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

// Admission of EndpointSlices: replaces Kubernetes' hints with those of the Service's plan on every write.
import { serviceOfSlice } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";
import { PLAN_ANNOTATION, readPlan } from "./objects/plan-annotation.ts";
import { hintPatch, wantedHints } from "./objects/slice-hints.ts";
import type { DispatchMetrics } from "./metrics.ts";
import type { ServiceFollower } from "./service-follower.ts";

interface SliceReview {
  readonly object: unknown;
  readonly oldObject: unknown;
}

export class SliceAdmission {
  readonly #follower: Pick<ServiceFollower, "slices">;
  readonly #metrics: Pick<DispatchMetrics, "slices">;

  constructor(follower: Pick<ServiceFollower, "slices">, metrics: Pick<DispatchMetrics, "slices">) {
    this.#follower = follower;
    this.#metrics = metrics;
  }

  /** Returns no operations for a slice without our plan. */
  patch({ object, oldObject }: SliceReview): readonly JsonPatchOperation[] {
    const slice = sliceOf(object);
    if (slice === null) return this.#counted("unreadable", []);
    const before = sliceOf(oldObject);
    const service = serviceOfSlice(slice);
    // Removing the plan restores Kubernetes' own hints.
    const isTakenBack =
      planOn(before) !== null && slice.metadata.annotations?.[PLAN_ANNOTATION] === undefined;
    if (service === null || isTakenBack) return this.#counted("left", []);
    const { namespace = "default", name } = slice.metadata;
    const others = this.#follower.slices(namespace, service).filter((other) => other.metadata.name !== name);
    const plan = planOn(slice) ?? others.map(planOn).find((each) => each !== null) ?? null;
    if (plan === null) return this.#counted("left", []);
    const patch = hintPatch(slice, plan, wantedHints(slice, others, plan));
    return this.#counted(patch.length === 0 ? "unchanged" : "hinted", patch);
  }

  #counted(outcome: string, patch: readonly JsonPatchOperation[]): readonly JsonPatchOperation[] {
    this.#metrics.slices.inc({ outcome });
    return patch;
  }
}

function planOn(slice: KubernetesObject | null): ReturnType<typeof readPlan> {
  return readPlan(slice?.metadata.annotations?.[PLAN_ANNOTATION]);
}

function sliceOf(object: unknown): KubernetesObject | null {
  return isSlice(object) ? object : null;
}

function isSlice(object: unknown): object is KubernetesObject {
  const { kind, metadata } = looseFields(object);
  return kind === "EndpointSlice" && looseFields(metadata) === metadata;
}

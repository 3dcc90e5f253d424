// Answers admission reviews synchronously from known state. Pure except for metrics.
import {
  BANDWIDTH_ANNOTATE,
  BANDWIDTH_KEY,
  bandwidthAnnotations,
  LABELS,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { JsonPatchOperation, KubernetesObject, ReplicasOf } from "@isochrone/kubernetes";
import { allowed, isFaulty, readReview } from "./admission-review.ts";
import { PROMISE_ANNOTATION } from "../planner/adapters/pod-writer.ts";
import type { AskedPod, PromisedNodes } from "../planner/promises/pod-promises.ts";
import type { AdmissionRequest, FaultyReview } from "./admission-review.ts";
import { exclusionOf } from "./gate-rules.ts";
import type { Entry, GateRules, ReviewPath } from "./gate-rules.ts";
import type { PodOutcome, WebhookMetrics } from "./metrics.ts";
import { annotationPatch, gatePatch, resourcePatch } from "./pod-patch.ts";

export interface AdmissionSurroundings {
  readonly rules: GateRules;
  isPlannerAlive(): boolean;
  appGroup(namespace: string, name: string): KubernetesObject | null;
  replicasOf(namespace: string, appGroup: string): ReplicasOf;
  /** The extended resource that requests scoring; null unless such pods are known to get scheduled. */
  injectable(): string | null;
  readonly metrics: Pick<WebhookMetrics, "count" | "fault" | "bandwidth">;
  /** The planner's nodes for the pod, reserved until it appears; null if there are none. */
  promise(asked: AskedPod): PromisedNodes | null;
  readonly slices: SlicePatches | null;
}

export interface SlicePatches {
  patch(review: { readonly object: unknown; readonly oldObject: unknown }): readonly JsonPatchOperation[];
}

interface Placed {
  readonly outcome: PodOutcome;
  readonly patch: JsonPatchOperation[];
  readonly planned?: Readonly<Record<string, string>>;
}

export class Admission {
  readonly #around: AdmissionSurroundings;

  constructor(around: AdmissionSurroundings) {
    this.#around = around;
  }

  answer(entry: ReviewPath, body: string): string | FaultyReview {
    const { metrics } = this.#around;
    const review = readReview(body);
    if (isFaulty(review)) {
      metrics.fault(review.fault);
      return review;
    }
    const { uid, pod } = review;
    if (entry === "endpoint-slices") return allowed(uid, this.#around.slices?.patch(review) ?? []);
    if (pod !== null) return allowed(uid, this.#patch(entry, review, pod));
    metrics.fault("no_pod");
    return allowed(
      uid,
      [],
      ["isochrone: asked about something other than the creation of a pod, which is left as it is"],
    );
  }

  #patch(
    entry: Entry,
    { namespace, isDryRun }: AdmissionRequest,
    pod: KubernetesObject,
  ): JsonPatchOperation[] {
    const { rules } = this.#around;
    const name = pod.metadata.labels?.[LABELS.appGroup];
    const appGroup = typeof name === "string" ? this.#around.appGroup(namespace, name) : null;
    const asked = { pod, namespace, entry, appGroup };
    const bandwidth = rules.excludedNamespaces.has(namespace)
      ? {}
      : this.#bandwidth(namespace, pod, appGroup);
    const exclusion = exclusionOf(asked, rules);
    const { outcome, patch, planned }: Placed =
      exclusion === null
        ? this.#place({ pod: within(namespace, pod), appGroup, isDryRun })
        : { outcome: exclusion, patch: [] };
    this.#around.metrics.count(outcome);
    // Distinguishes the pod from one that also asks but was created unanswered.
    const isAsking = exclusion === null || exclusion === "already_gated" || exclusion === "gang";
    const annotations = { ...bandwidth, ...planned, ...(isAsking ? { [WEBHOOK_ANSWER]: outcome } : {}) };
    return [...patch, ...annotationPatch(pod, annotations)];
  }

  /**
   * Gives the pod nodes if the planner has some, else the gate. Without a live planner it gets no gate, but
   * may still ask to be scored.
   */
  #place(asked: AskedPod): Placed {
    const { pod } = asked;
    // Called again because another webhook changed the pod.
    if (isPromised(pod)) return { outcome: "planned", patch: [] };
    if (this.#around.isPlannerAlive()) {
      const promised = this.#around.promise(asked);
      if (promised === null) return { outcome: "gated", patch: gatePatch(pod) };
      const { affinity: value, annotations: planned } = promised;
      return { outcome: "planned", patch: [{ op: "add", path: "/spec/affinity", value }], planned };
    }
    const resource = this.#around.injectable();
    if (resource === null) return { outcome: "no_planner", patch: [] };
    return { outcome: "resource", patch: resourcePatch(pod, resource) };
  }

  #bandwidth(
    namespace: string,
    pod: KubernetesObject,
    appGroup: KubernetesObject | null,
  ): Readonly<Record<string, string>> {
    const workload = pod.metadata.labels?.[LABELS.appGroupWorkload];
    if (appGroup === null || typeof workload !== "string") return {};
    const word = wordOn(pod) ?? wordOn(appGroup);
    if (word !== BANDWIDTH_ANNOTATE) return {};
    const replicas = this.#around.replicasOf(namespace, appGroup.metadata.name);
    const annotations = bandwidthAnnotations(appGroup, workload, replicas);
    if (annotationPatch(pod, annotations).length > 0) this.#around.metrics.bandwidth.inc();
    return annotations;
  }
}

function isPromised({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[PROMISE_ANNOTATION] !== undefined;
}

/** The object may omit the request's namespace. */
function within(namespace: string, pod: KubernetesObject): KubernetesObject {
  return { ...pod, metadata: { ...pod.metadata, namespace } };
}

function wordOn({ metadata }: KubernetesObject): string | null {
  return metadata.labels?.[BANDWIDTH_KEY] ?? metadata.annotations?.[BANDWIDTH_KEY] ?? null;
}

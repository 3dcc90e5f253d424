// The wire between the API server and an admission webhook (admission.k8s.io/v1). What can't be understood is
// still answered where there is somebody to answer: a webhook that only adds may never be the reason why a
// pod isn't created.
import type { JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseText, reasonOf, parseJson } from "@isochrone/primitives";

const API_VERSION = "admission.k8s.io/v1";
const KIND = "AdmissionReview";
/** The API server's are UUIDs; it is sent back as it came. */
const MAX_UID_CHARACTERS = 256;

/** Why a body is no review, as a label of the metrics. */
export type ReviewFault = "not_json" | "wrong_kind" | "no_request" | "no_uid";

/** A body to which there is no answer but a status of 4xx; `detail` names field, rule and value. */
export interface FaultyReview {
  readonly fault: ReviewFault;
  readonly detail: string;
}

/** What the API server asks about. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly namespace: string;
  /** The pod; null when the request is about something else, or not about a creation. */
  readonly pod: KubernetesObject | null;
  /** As it stands in the request; null where it doesn't. */
  readonly object: unknown;
  readonly oldObject: unknown;
  /** Nothing will come of it. */
  readonly isDryRun: boolean;
}

/** Reads the body of a request. */
export function readReview(body: string): AdmissionRequest | FaultyReview {
  let json: unknown;
  try {
    json = parseJson(body);
  } catch (error) {
    return faulty("not_json", `the body must be JSON: ${reasonOf(error)}`);
  }
  const { apiVersion, kind, request } = looseFields(json);
  if (apiVersion !== API_VERSION || kind !== KIND)
    return faulty(
      "wrong_kind",
      `the body must be a ${KIND} of ${API_VERSION}, got ${shown(kind)} of ${shown(apiVersion)}`,
    );
  const fields = looseFields(request);
  if (fields !== request) return faulty("no_request", `request must be an object, got ${shown(request)}`);
  const uid = looseText(fields.uid);
  if (uid === "" || uid.length > MAX_UID_CHARACTERS)
    return faulty(
      "no_uid",
      `request.uid must be 1 to ${MAX_UID_CHARACTERS} characters, got ${shown(fields.uid)}`,
    );
  const { object = null, oldObject = null } = fields;
  const [namespace, isDryRun] = [looseText(fields.namespace), fields.dryRun === true];
  return { uid, namespace, pod: podOf(fields), object, oldObject, isDryRun };
}

export function isFaulty(review: AdmissionRequest | FaultyReview): review is FaultyReview {
  return "fault" in review;
}

/** The answer's text: allowed, whatever the request was. A warning is shown to whoever made the pod. */
export function allowed(
  uid: string,
  patch: readonly JsonPatchOperation[],
  warnings: readonly string[] = [],
): string {
  const change =
    patch.length === 0
      ? {}
      : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
  const warned = warnings.length === 0 ? {} : { warnings };
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: KIND,
    response: { uid, allowed: true, ...change, ...warned },
  });
}

function podOf({
  operation,
  subResource,
  object,
}: Readonly<Record<string, unknown>>): KubernetesObject | null {
  if (operation !== "CREATE" || looseText(subResource) !== "") return null;
  const { kind, metadata, spec } = looseFields(object);
  // Without a spec there is nothing to add to; the API server turns such a pod away itself.
  const isPod = kind === "Pod" && looseFields(metadata) === metadata && looseFields(spec) === spec;
  return isPod ? (object as KubernetesObject) : null;
}

function faulty(fault: ReviewFault, detail: string): FaultyReview {
  return { fault, detail };
}

const MAX_SHOWN = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "none";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

// Parses admission.k8s.io/v1 reviews. Malformed ones are answered if they have a uid: a webhook that only
// adds must never block a pod.
import type { JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseText, reasonOf, parseJson } from "@isochrone/primitives";

const API_VERSION = "admission.k8s.io/v1";
const KIND = "AdmissionReview";
/** The API server sends UUIDs; echoed unchanged. */
const MAX_UID_CHARACTERS = 256;

export type ReviewFault = "not_json" | "wrong_kind" | "no_request" | "no_uid";

/** Answered with 4xx; `detail` names field, rule and value. */
export interface FaultyReview {
  readonly fault: ReviewFault;
  readonly detail: string;
}

export interface AdmissionRequest {
  readonly uid: string;
  readonly namespace: string;
  readonly pod: KubernetesObject | null;
  readonly object: unknown;
  readonly oldObject: unknown;
  readonly isDryRun: boolean;
}

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

/** JSON of an allowing answer. The pod's creator sees the warning. */
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
  // The API server itself rejects a pod without a spec.
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

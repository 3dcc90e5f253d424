import { StoreError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import type { KindRef, KubernetesObject, ObjectMeta } from "./port.ts";

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

/** Cluster-scoped kinds. Every other kind counts as namespaced. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "CSINode",
  "CustomResourceDefinition",
  "FlowNetwork",
  "Namespace",
  "Node",
  "PersistentVolume",
  "PriorityClass",
  "StorageClass",
]);

export function isNamespaced(kind: KindRef): boolean {
  return !CLUSTER_SCOPED.has(kind.kind);
}

/** Whether the text is an RFC 1123 label: a namespace, or a part of a subdomain. */
export function isDnsLabel(text: string): boolean {
  return text.length <= MAX_LABEL && DNS_LABEL.test(text);
}

/** Whether the text is an RFC 1123 subdomain, as most names (parts may exceed 63). */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= MAX_SUBDOMAIN && text.split(".").every((part) => DNS_LABEL.test(part));
}

export function isQualifiedName(text: string): boolean {
  const parts = text.split("/");
  const name = parts.pop() ?? "";
  if (parts.length > 1 || (parts[0] !== undefined && !isDnsSubdomain(parts[0]))) return false;
  return name.length <= MAX_LABEL && QUALIFIED_NAME.test(name);
}

export function isLabelValue(text: string): boolean {
  return text === "" || (text.length <= MAX_LABEL && QUALIFIED_NAME.test(text));
}

/** Throws StoreError `invalid` with field, rule and value if the API server would reject type or metadata. */
export function validateObject(object: KubernetesObject): void {
  for (const field of ["apiVersion", "kind"] as const) {
    if (typeof object[field] !== "string" || object[field] === "")
      refuse(object, field, "must be a text", object[field]);
  }
  if (!isPlainObject(object.metadata)) refuse(object, "metadata", "must be an object", object.metadata);
  const { metadata } = object;
  if (typeof metadata.name !== "string" || !isDnsSubdomain(metadata.name)) {
    refuse(object, "metadata.name", "must be an RFC 1123 subdomain of at most 253 characters", metadata.name);
  }
  validateNamespace(object);
  for (const field of ["spec", "status"] as const) {
    if (object[field] !== undefined && !isPlainObject(object[field]))
      refuse(object, field, "must be an object", object[field]);
  }
  validateLabels(object, metadata.labels);
  validateAnnotations(object, metadata.annotations);
  validateOwners(object, metadata.ownerReferences);
  validateFinalizers(object, metadata.finalizers);
}

function validateNamespace(object: KubernetesObject): void {
  const { namespace } = object.metadata;
  if (namespace === undefined) return;
  if (!isNamespaced(object))
    refuse(object, "metadata.namespace", `must be absent on a ${object.kind}`, namespace);
  if (typeof namespace !== "string" || !isDnsLabel(namespace)) {
    refuse(object, "metadata.namespace", "must be an RFC 1123 label of at most 63 characters", namespace);
  }
}

function validateLabels(object: KubernetesObject, labels: ObjectMeta["labels"]): void {
  for (const [key, value] of members(object, "metadata.labels", labels)) {
    if (!isQualifiedName(key)) refuse(object, "metadata.labels", "must have qualified names as keys", key);
    if (typeof value !== "string" || !isLabelValue(value)) {
      refuse(object, `metadata.labels["${key}"]`, "must be a label value of at most 63 characters", value);
    }
  }
}

function validateAnnotations(object: KubernetesObject, annotations: ObjectMeta["annotations"]): void {
  let bytes = 0;
  for (const [key, value] of members(object, "metadata.annotations", annotations)) {
    // As in the API server, keys are lower-cased before the check.
    if (!isQualifiedName(key.toLowerCase()))
      refuse(object, "metadata.annotations", "must have qualified names as keys", key);
    if (typeof value !== "string") refuse(object, `metadata.annotations["${key}"]`, "must be a text", value);
    else bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATIONS_BYTES) {
    refuse(object, "metadata.annotations", `must be at most ${MAX_ANNOTATIONS_BYTES} bytes together`, bytes);
  }
}

function validateOwners(object: KubernetesObject, owners: unknown): void {
  if (owners === undefined) return;
  if (!Array.isArray(owners)) return refuse(object, "metadata.ownerReferences", "must be a list", owners);
  for (const owner of owners) {
    const complete =
      isPlainObject(owner) &&
      ["apiVersion", "kind", "name", "uid"].every(
        (field) => typeof owner[field] === "string" && owner[field] !== "",
      );
    if (!complete)
      refuse(
        object,
        "metadata.ownerReferences",
        "must have apiVersion, kind, name and uid each",
        JSON.stringify(owner),
      );
  }
}

function validateFinalizers(object: KubernetesObject, finalizers: unknown): void {
  if (finalizers === undefined) return;
  if (!Array.isArray(finalizers)) return refuse(object, "metadata.finalizers", "must be a list", finalizers);
  for (const finalizer of finalizers) {
    if (typeof finalizer !== "string" || !isQualifiedName(finalizer)) {
      refuse(object, "metadata.finalizers", "must be qualified names", finalizer);
    }
  }
}

function members(object: KubernetesObject, field: string, map: unknown): [string, unknown][] {
  if (map === undefined) return [];
  if (!isPlainObject(map)) return refuse(object, field, "must be an object", map);
  return Object.entries(map);
}

function refuse(object: KubernetesObject, field: string, rule: string, value: unknown): never {
  const shown = typeof value === "string" ? `"${value.slice(0, 300)}"` : String(value);
  const subject = `${object.kind} ${object.metadata?.name}`;
  throw new StoreError("invalid", `${subject}: ${field} ${rule}, got ${shown}`);
}

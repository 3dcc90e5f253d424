import type { Detail, KubernetesObject, ObjectMeta } from "./port.ts";

/** @param object a private copy */
export function detailed(object: KubernetesObject, { metadataOnly = false, trim }: Detail): KubernetesObject {
  const { apiVersion, kind } = object;
  const metadata: ObjectMeta & { managedFields?: unknown } = object.metadata;
  if ("managedFields" in metadata) delete metadata.managedFields;
  const wanted = metadataOnly ? { apiVersion, kind, metadata } : object;
  return trim ? trim(wanted) : wanted;
}

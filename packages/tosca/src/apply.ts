import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@isochrone/primitives";

export const TOSCA_FIELD_MANAGER = "isochrone-tosca";

export interface ApplyPlan {
  /** Dry run on the API server. @default false */
  readonly dryRun?: boolean;
  /** Takes over conflicting fields of other managers. @default false */
  readonly force?: boolean;
}

export interface AppliedObject {
  readonly object: KubernetesObject;
  readonly outcome: "created" | "changed" | "unchanged";
  readonly changes: readonly string[];
}

/** Applies in sequence, stopping at the first refusal; `done` reports applied objects. Throws StoreError. */
export async function applyObjects(
  store: Pick<ClusterStore, "get" | "apply">,
  objects: readonly KubernetesObject[],
  { dryRun = false, force = false }: ApplyPlan,
  done: (applied: AppliedObject) => void,
): Promise<void> {
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object;
    const { namespace, name } = metadata;
    const ref = { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
    const before = await store.get(ref);
    const after = await store.apply(object, { fieldManager: TOSCA_FIELD_MANAGER, force, dryRun });
    const changes = before === null ? [] : changedPaths(said(before), said(after));
    const outcome = before === null ? "created" : changes.length === 0 ? "unchanged" : "changed";
    done({ object: after, outcome, changes });
  }
}

function said({ metadata, status: _status, ...rest }: KubernetesObject): object {
  const { labels = {}, annotations = {} } = metadata;
  return { ...rest, metadata: { labels, annotations } };
}

function changedPaths(before: unknown, after: unknown, path = ""): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  const isMap = isRecord(before) && isRecord(after);
  const isList = Array.isArray(before) && Array.isArray(after) && before.length === after.length;
  if (!isMap && !isList) return [path];
  const left = before as Readonly<Record<string, unknown>>;
  const right = after as Readonly<Record<string, unknown>>;
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) =>
    changedPaths(left[key], right[key], path === "" ? key : `${path}.${key}`),
  );
}

// Objects onto a cluster, by server-side apply: what the template says and nothing else.
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@isochrone/primitives";

/** As managedFields names us. */
export const TOSCA_FIELD_MANAGER = "isochrone-tosca";

export interface ApplyPlan {
  /** Ask the API server what would come of it; nothing is changed. @default false */
  readonly dryRun?: boolean;
  /** Take fields over that another manager owns with another value. @default false */
  readonly force?: boolean;
}

/** What came of an object. */
export interface AppliedObject {
  readonly object: KubernetesObject;
  readonly outcome: "created" | "changed" | "unchanged";
  /** Paths of the fields that are different now; none for a new object. */
  readonly changes: readonly string[];
}

/**
 * One after the other, so that the first refusal ends it; what was applied before is told by `done`. Throws
 * StoreError.
 */
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

/** Without what the API server and controllers keep. */
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

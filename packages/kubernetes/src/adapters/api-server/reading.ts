import { detailed } from "../../store/detail.ts";
import { isStoreError, StoreError } from "../../store/errors.ts";
import { isPlainObject } from "../../store/json.ts";
import { looseFields } from "@isochrone/primitives";
import type { FieldSelector, KindRef, KubernetesObject, ListOptions, ObjectList } from "../../store/port.ts";
import { actOf } from "./client.ts";
import type { ApiClient } from "./client.ts";
import { isKnown } from "./resources.ts";

/** How often a list is begun again whose version was compacted away while its pages were read. */
const MAX_LISTINGS = 3;
/** Each time with larger pages, so that it takes less time. */
const PAGE_GROWTH = 4;

/**
 * A list page by page, each trimmed before the next is asked for. A page that is no longer to be had (410)
 * begins the list anew: going on with newer pages, which the server offers, would hide what was deleted
 * meanwhile, and one answer with everything may exceed the longest string.
 */
export async function listPages(
  client: ApiClient,
  path: string,
  kind: KindRef,
  options: ListOptions,
  pageSize: number,
): Promise<ObjectList> {
  for (let listing = 1; ; listing += 1) {
    try {
      return await listOnce(client, path, kind, options, pageSize * PAGE_GROWTH ** (listing - 1));
    } catch (error) {
      if (listing === MAX_LISTINGS || !isStoreError(error, "expired")) throw error;
    }
  }
}

async function listOnce(
  client: ApiClient,
  path: string,
  kind: KindRef,
  options: ListOptions,
  limit: number,
): Promise<ObjectList> {
  const { metadataOnly = false, fields, labels = {} } = options;
  const request = {
    verb: "list",
    kind: kind.kind,
    method: "GET",
    path,
    isRepeatable: true,
    dropsManagedFields: isKnown(kind),
  } as const;
  const labelSelector = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const items: KubernetesObject[] = [];
  let next: string | undefined;
  for (;;) {
    const page = pageOf(
      await client.json({
        ...request,
        query: {
          limit: String(limit),
          continue: next,
          fieldSelector: fieldSelector(fields),
          labelSelector: labelSelector.length > 0 ? labelSelector.join(",") : undefined,
        },
        ...(metadataOnly ? { accept: metadataAccept("PartialObjectMetadataList") } : {}),
      }),
      actOf(request),
    );
    for (const item of page.items) items.push(detailed(withKind(item, kind), options));
    next = page.next;
    if (next === undefined) return { items, resourceVersion: page.resourceVersion };
  }
}

interface Page {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
  readonly next: string | undefined;
}

function pageOf(list: unknown, act: string): Page {
  const { metadata, items } = looseFields(list);
  if (!isPlainObject(metadata))
    throw new StoreError("unavailable", `${act}: the API server answered no list`);
  const { resourceVersion, continue: next } = metadata;
  return {
    items: Array.isArray(items) ? items : [],
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    next: typeof next === "string" && next !== "" ? next : undefined,
  };
}

/** The object with its kind: items of lists have none, and those of metadata only another one. */
export function withKind(object: KubernetesObject, { apiVersion, kind }: KindRef): KubernetesObject {
  return { ...object, apiVersion, kind };
}

export function fieldSelector(fields: FieldSelector | undefined): string | undefined {
  const terms = Object.entries(fields ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${field}=${String(value)}`);
  return terms.length > 0 ? terms.join(",") : undefined;
}

export function metadataAccept(as: "PartialObjectMetadata" | "PartialObjectMetadataList"): string {
  return `application/json;as=${as};g=meta.k8s.io;v=v1`;
}

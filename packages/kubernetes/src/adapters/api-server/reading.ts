import { detailed } from "../../store/detail.ts";
import { isStoreError, StoreError } from "../../store/errors.ts";
import { isPlainObject } from "../../store/json.ts";
import { looseFields, reasonOf, type LooseFields } from "@isochrone/primitives";
import type { FieldSelector, KindRef, KubernetesObject, ListOptions, ObjectList } from "../../store/port.ts";
import { giveBack, jsonOf, type Answer } from "./answers.ts";
import type { BinaryKinds } from "./binary-kinds.ts";
import { actOf } from "./client.ts";
import type { ApiClient } from "./client.ts";
import { readList } from "./protobuf/envelope.ts";
import { isKnown } from "./resources.ts";

/** Maximum restarts of a list whose version was compacted while its pages were read. */
const MAX_LISTINGS = 3;
const PAGE_GROWTH = 4;

export interface ListSource {
  readonly client: ApiClient;
  readonly binary: BinaryKinds;
  readonly pageSize: number;
}

/**
 * Lists page by page, trimming each before the next. A 410 restarts the list: continuing on newer pages would
 * hide deletions, and a single answer may exceed the longest string.
 */
export async function listPages(
  path: string,
  kind: KindRef,
  options: ListOptions,
  { pageSize, ...from }: ListSource,
): Promise<ObjectList> {
  for (let listing = 1; ; listing += 1) {
    try {
      return await listOnce(path, kind, options, {
        ...from,
        pageSize: pageSize * PAGE_GROWTH ** (listing - 1),
      });
    } catch (error) {
      if (listing === MAX_LISTINGS || !isStoreError(error, "expired")) throw error;
    }
  }
}

async function listOnce(
  path: string,
  kind: KindRef,
  options: ListOptions,
  { client, binary, pageSize }: ListSource,
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
  const keep = (item: KubernetesObject): KubernetesObject => detailed(withKind(item, kind), options);
  const items: KubernetesObject[] = [];
  let next: string | undefined;
  for (;;) {
    const isBinary = binary.has(kind);
    const answer = await client.answer({
      ...request,
      query: {
        limit: String(pageSize),
        continue: next,
        fieldSelector: fieldSelector(fields),
        labelSelector: labelSelector.length > 0 ? labelSelector.join(",") : undefined,
      },
      ...(metadataOnly ? { as: "PartialObjectMetadataList" } : {}),
      isBinary,
    });
    const page = pageOf(answer, actOf(request), request.dropsManagedFields, keep);
    giveBack(answer.bytes);
    if (page.unknownField !== null && isBinary) {
      binary.giveUp(kind, page.unknownField);
      continue;
    }
    for (const item of page.items) items.push(item);
    next = page.next;
    if (next === undefined) return { items, resourceVersion: page.resourceVersion };
  }
}

interface Page {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
  readonly next: string | undefined;
  readonly unknownField: string | null;
}

function pageOf(
  { bytes, isBinary }: Answer,
  act: string,
  dropsManagedFields: boolean,
  keep: (item: KubernetesObject) => KubernetesObject,
): Page {
  if (!isBinary)
    return { ...pageOfJson(parsedList(bytes, act, dropsManagedFields), act, keep), unknownField: null };
  const { value, unknownField } = readList(bytes, act, keep);
  return { items: value.items, ...placeOf(value.metadata), unknownField };
}

function parsedList(bytes: Buffer, act: string, dropsManagedFields: boolean): unknown {
  try {
    return jsonOf(bytes, dropsManagedFields);
  } catch (error) {
    throw new StoreError("unavailable", `${act}: the answer can't be read: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function pageOfJson(
  list: unknown,
  act: string,
  keep: (item: KubernetesObject) => KubernetesObject,
): Omit<Page, "unknownField"> {
  const { metadata, items } = looseFields(list);
  if (!isPlainObject(metadata))
    throw new StoreError("unavailable", `${act}: the API server answered no list`);
  return { items: Array.isArray(items) ? items.map(keep) : [], ...placeOf(metadata) };
}

function placeOf({ resourceVersion, continue: next }: LooseFields): Pick<Page, "resourceVersion" | "next"> {
  return {
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    next: typeof next === "string" && next !== "" ? next : undefined,
  };
}

/** Adds the object's kind: list items have none, and metadata forms another one. */
export function withKind(object: KubernetesObject, { apiVersion, kind }: KindRef): KubernetesObject {
  return { ...object, apiVersion, kind };
}

export function fieldSelector(fields: FieldSelector | undefined): string | undefined {
  const terms = Object.entries(fields ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${field}=${String(value)}`);
  return terms.length > 0 ? terms.join(",") : undefined;
}

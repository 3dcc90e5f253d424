import { pause } from "@isochrone/runtime";
import type { Clock, Random } from "@isochrone/runtime";

import { detailed } from "../../store/detail.ts";
import { StoreError } from "../../store/errors.ts";
import { isPlainObject } from "../../store/json.ts";
import { looseFields } from "@isochrone/primitives";
import type { Detail, FieldSelector, KindRef, KubernetesObject, WatchEvent } from "../../store/port.ts";
import type { ApiClient, ApiServerObserver } from "./client.ts";
import { linesOf, SilenceError } from "./event-stream.ts";
import { fieldSelector, metadataAccept, withKind } from "./reading.ts";
import { errorOfStatus, statusOf } from "./status-error.ts";

/** The server ends a watch after so long, drawn up to twice it, so that they don't all come back at once. */
const WATCH_TIMEOUT_MS = 300_000;
/** A server that ends every watch at once isn't asked in a tight loop. */
const MIN_WATCH_MS = 1_000;

export interface WatchRequest extends Detail {
  readonly resourceVersion: string;
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  readonly signal: AbortSignal;
}

export interface WatchDependencies {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ApiServerObserver;
  readonly maxSilenceMs: number;
}

/** Changes from a version on, over as many requests as it takes; see ClusterStore.watch. */
export async function* watchChanges(
  path: string,
  kind: KindRef,
  request: WatchRequest,
  dependencies: WatchDependencies,
): AsyncGenerator<WatchEvent> {
  const { signal } = request;
  const { clock, random, observer } = dependencies;
  let version = request.resourceVersion;
  if (!/^\d+$/.test(version)) {
    throw new StoreError(
      "invalid",
      `resourceVersion must be a decimal number as list returned it, got "${version}"`,
    );
  }
  while (!signal.aborted) {
    const startedAtMs = clock.monotonic();
    let reason: "ended" | "silent" = "ended";
    try {
      for await (const event of oneWatch(
        path,
        kind,
        { ...request, resourceVersion: version },
        dependencies,
      )) {
        if (signal.aborted) return;
        version =
          event.type === "bookmark"
            ? event.resourceVersion
            : (event.object.metadata.resourceVersion ?? version);
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof SilenceError)) throw error;
      reason = "silent";
    }
    if (signal.aborted) return;
    observer.watchRenewed?.(kind.kind, reason);
    const leftMs = startedAtMs + MIN_WATCH_MS - clock.monotonic();
    if (leftMs > 0) await pause(clock, leftMs * (1 + random.next()), signal);
  }
}

/** One request; ends when the server ends it. */
async function* oneWatch(
  path: string,
  kind: KindRef,
  request: WatchRequest,
  { client, clock, random, maxSilenceMs }: WatchDependencies,
): AsyncGenerator<WatchEvent> {
  const { metadataOnly = false, fields, signal } = request;
  const act = `watch ${kind.kind}`;
  const response = await client.stream(
    {
      verb: "watch",
      kind: kind.kind,
      method: "GET",
      path,
      query: {
        watch: "1",
        allowWatchBookmarks: "true",
        resourceVersion: request.resourceVersion,
        timeoutSeconds: String(Math.round((WATCH_TIMEOUT_MS * (1 + random.next())) / 1_000)),
        fieldSelector: fieldSelector(fields),
      },
      ...(metadataOnly ? { accept: metadataAccept("PartialObjectMetadata") } : {}),
      isRepeatable: true,
    },
    signal,
  );
  for await (const line of linesOf(response, act, clock, maxSilenceMs)) {
    const event = eventOf(line, kind, act, request);
    if (event) yield event;
  }
}

function eventOf(line: string, kind: KindRef, act: string, detail: Detail): WatchEvent | null {
  const { type, object } = parsed(line, act);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const kept = detailed(withKind(object, kind), detail);
      // Trimming must not lose where to go on.
      kept.metadata.resourceVersion ??= versionOf(object);
      return { type: EVENT_TYPES[type], object: kept };
    }
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion: versionOf(object) };
    case "ERROR":
      throw errorOfStatus(act, statusOf(500, object));
    default:
      return null;
  }
}

const EVENT_TYPES = { ADDED: "added", MODIFIED: "modified", DELETED: "deleted" } as const;

function parsed(line: string, act: string): { type: unknown; object: KubernetesObject } {
  let event: unknown = null;
  try {
    event = JSON.parse(line);
  } catch {
    // Said below.
  }
  const { type, object } = looseFields(event);
  if (isPlainObject(object)) return { type, object: object as KubernetesObject };
  throw new StoreError("unavailable", `${act}: the server sent no event: ${line.slice(0, 200)}`);
}

function versionOf({ metadata }: KubernetesObject): string {
  return metadata?.resourceVersion ?? "";
}

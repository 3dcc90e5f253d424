import { pause } from "@isochrone/runtime";
import type { Clock, Random } from "@isochrone/runtime";

import { detailed } from "../../store/detail.ts";
import { StoreError } from "../../store/errors.ts";
import { isPlainObject } from "../../store/json.ts";
import { looseFields } from "@isochrone/primitives";
import type { Detail, FieldSelector, KindRef, KubernetesObject, WatchEvent } from "../../store/port.ts";
import { isBinary } from "./answers.ts";
import type { BinaryKinds } from "./binary-kinds.ts";
import type { ApiClient, ApiServerObserver, Renewal } from "./client.ts";
import { recordsOf, SilenceError } from "./event-stream.ts";
import { readEvent } from "./protobuf/envelope.ts";
import { fieldSelector, withKind } from "./reading.ts";
import { Frames, Lines } from "./records.ts";
import { errorOfStatus, statusOf } from "./status-error.ts";

/** Length of a watch, randomised up to twice this, so that watches don't end together. */
const WATCH_TIMEOUT_MS = 300_000;
/** Minimum length of a watch. Prevents a tight loop if the server ends each at once. */
const MIN_WATCH_MS = 1_000;

export interface WatchRequest extends Detail {
  readonly resourceVersion: string;
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  readonly signal: AbortSignal;
}

export interface WatchDependencies {
  readonly client: ApiClient;
  readonly binary: BinaryKinds;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ApiServerObserver;
  readonly maxSilenceMs: number;
}

/** After this many watches without even a bookmark, the version may be ahead of a restored server's. */
const MAX_SILENT_WATCHES = 2;

export async function* watchChanges(
  pathOf: () => Promise<string>,
  kind: KindRef,
  request: WatchRequest,
  dependencies: WatchDependencies,
): AsyncGenerator<WatchEvent> {
  const { signal } = request;
  const { clock, random, observer, binary } = dependencies;
  let version = checkedVersion(request.resourceVersion);
  const path = await pathOf();
  let silentWatches = 0;
  while (!signal.aborted) {
    const startedAtMs = clock.monotonic();
    let reason: Renewal | null = "ended";
    try {
      const from = { ...request, resourceVersion: version };
      const { batches, read } = await openWatch(path, kind, from, dependencies);
      for await (const batch of batches) {
        silentWatches = 0;
        for (const record of batch) {
          const event = read(record);
          if (signal.aborted) return;
          if (event === null) continue;
          version = versionAfter(event) ?? version;
          yield event;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      reason = renewalAfter(error, kind, binary);
    }
    if (reason === "silent") checkSilence(++silentWatches, kind, version);
    if (signal.aborted) return;
    if (reason === null) continue;
    observer.watchRenewed?.(kind.kind, reason);
    const leftMs = startedAtMs + MIN_WATCH_MS - clock.monotonic();
    if (leftMs > 0) await pause(clock, leftMs * (1 + random.next()), signal);
  }
}

function checkedVersion(version: string): string {
  if (/^\d+$/.test(version)) return version;
  throw new StoreError(
    "invalid",
    `resourceVersion must be a decimal number as list returned it, got "${version}"`,
  );
}

function checkSilence(silentWatches: number, { kind }: KindRef, version: string): void {
  if (silentWatches < MAX_SILENT_WATCHES) return;
  throw new StoreError(
    "expired",
    `watch ${kind}: nothing came after version ${version} on ${silentWatches} connections`,
  );
}

/**
 * Returns the reason to continue after an error; null: at once, in another form. Throws errors that end the
 * watch.
 */
function renewalAfter(error: unknown, kind: KindRef, binary: BinaryKinds): Renewal | null {
  if (error instanceof SilenceError) return "silent";
  if (!(error instanceof UnknownFieldError)) throw error;
  binary.giveUp(kind, error.field);
  return null;
}

function versionAfter(event: WatchEvent): string | undefined {
  return event.type === "bookmark" ? event.resourceVersion : event.object.metadata.resourceVersion;
}

interface OpenWatch {
  readonly batches: AsyncIterable<readonly Buffer[]>;
  /** Returns null for an unknown event type. */
  readonly read: (record: Buffer) => WatchEvent | null;
}

async function openWatch(
  path: string,
  kind: KindRef,
  request: WatchRequest,
  { client, binary, clock, random, maxSilenceMs }: WatchDependencies,
): Promise<OpenWatch> {
  const { metadataOnly = false, fields, signal } = request;
  const act = `watch ${kind.kind}`;
  const isBinaryAsked = binary.has(kind);
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
      ...(metadataOnly ? { as: "PartialObjectMetadata" } : {}),
      isBinary: isBinaryAsked,
      isRepeatable: true,
    },
    signal,
  );
  const isFramed = isBinary(response);
  const parsed = isFramed
    ? (record: Buffer) => ofFrame(record, act, isBinaryAsked)
    : (record: Buffer) => ofLine(record, act);
  return {
    batches: recordsOf(response, isFramed ? new Frames() : new Lines(), { act, clock, maxSilenceMs }),
    read: (record) => eventOf(parsed(record), kind, act, request),
  };
}

class UnknownFieldError extends Error {
  readonly field: string;

  constructor(field: string) {
    super(`unknown field ${field}`);
    this.field = field;
  }
}

interface RawEvent {
  readonly type: unknown;
  readonly object: KubernetesObject;
}

function eventOf({ type, object }: RawEvent, kind: KindRef, act: string, detail: Detail): WatchEvent | null {
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const kept = detailed(withKind(object, kind), detail);
      // Trimming must keep the version to continue from.
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

/** @param isAsked false: the server sends only this form, so unknown fields are accepted */
function ofFrame(frame: Buffer, act: string, isAsked: boolean): RawEvent {
  const { value, unknownField } = readEvent(frame, act);
  if (unknownField !== null && isAsked) throw new UnknownFieldError(unknownField);
  return value;
}

function ofLine(line: Buffer, act: string): RawEvent {
  const text = line.toString();
  let event: unknown = null;
  try {
    event = JSON.parse(text);
  } catch {
    // The error is thrown below.
  }
  const { type, object } = looseFields(event);
  if (isPlainObject(object)) return { type, object: object as KubernetesObject };
  throw new StoreError("unavailable", `${act}: the server sent no event: ${text.slice(0, 200)}`);
}

function versionOf({ metadata }: KubernetesObject): string {
  return metadata?.resourceVersion ?? "";
}

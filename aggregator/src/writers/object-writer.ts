import {
  fencedStore,
  isStoreError,
  type ClusterStore,
  type EventRecorder,
  type KubernetesObject,
  type ObjectRef,
  type StoreError,
} from "@isochrone/kubernetes";
import { withDeadline, type Clock, type Logger } from "@isochrone/runtime";
import { ANNOTATED_BY } from "@isochrone/topology";
import { definedOf } from "@isochrone/primitives";
import type { WriteResult } from "./metrics.ts";

/** Field manager of all annotations. Use it for nothing else: an apply removes fields that it omits. */
export const FIELD_MANAGER = "isochrone-aggregator";

const MAX_TRIES = 3;
const WRITE_DEADLINE_MS = 15_000;

export interface ObjectMemory {
  /** Keys left to another manager, with our value at the last write. */
  readonly disputed: Map<string, string>;
  /** Keys with our names that remained after we released them, so they are foreign. */
  readonly foreign: Set<string>;
  /** Mark on the object when first seen, or our mark of the last write; undefined: not read yet. */
  mark: string | null | undefined;
  /** Silence after which another writer's object is taken over, ms; undefined: it never undid our write. */
  patienceMs: number | undefined;
  /** Time of the takeover from another writer, Unix ms. */
  tookOverMs: number | undefined;
  /** A change that another writer has not written: its last mark (Unix ms), and monotonic start. */
  unwritten: { readonly markedMs: number; readonly sinceMs: number } | undefined;
  /** Monotonic: last write, and end of the pause. */
  writtenMs: number;
  blockedUntilMs: number;
}

export interface WriteTask {
  /** As last seen. */
  readonly object: KubernetesObject;
  /** All desired annotations by key. Our other annotations are removed. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly memory: ObjectMemory;
  /** Checked before each attempt, and again when the request is sent. */
  readonly isMine: () => boolean;
}

export interface WriteOutcome {
  readonly result: WriteResult;
  readonly error: unknown;
  readonly verb: "patch" | "get";
}

interface ObjectWriterOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventRecorder, "event">;
  readonly isOwnKey: (key: string) => boolean;
  readonly onConflict: (fields: number) => void;
}

/**
 * Server-side apply without force, bound to uid and version: a paused replica cannot overwrite newer writes
 * or recreate a deleted object.
 */
export class ObjectWriter {
  readonly #options: ObjectWriterOptions;

  constructor(options: ObjectWriterOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async write(task: WriteTask): Promise<WriteOutcome> {
    let object = task.object;
    let verb: WriteOutcome["verb"] = "patch";
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        if (!task.isMine()) return done("disowned");
        verb = "patch";
        const conflict = await this.#apply(object, task);
        if (conflict === null) return done("written");
        const named = [...task.annotations.keys()].filter((key) => namesAnnotation(conflict.message, key));
        if (named.length > 0) this.#leave(named, object, task.memory, conflict);
        else {
          verb = "get";
          const current = await this.#timed(() => this.#options.store.get(refOf(object)));
          if (current === null || current.metadata.uid !== object.metadata.uid) return done("gone");
          object = current;
        }
      }
      return done("conflict");
    } catch (error) {
      return { result: resultOf(error), error, verb };
    }
  }

  /** Null: written. */
  async #apply(
    object: KubernetesObject,
    { annotations, memory, isMine }: WriteTask,
  ): Promise<StoreError | null> {
    const { apiVersion, kind, metadata } = object;
    const { name, namespace, uid, resourceVersion } = metadata;
    const wanted = [...annotations].filter(([key]) => !memory.disputed.has(key));
    const config: KubernetesObject = {
      apiVersion,
      kind,
      metadata: {
        name,
        ...definedOf({ namespace, uid, resourceVersion }),
        ...(wanted.length === 0 ? {} : { annotations: Object.fromEntries(wanted) }),
      },
    };
    try {
      const { clock, isOwnKey } = this.#options;
      const store = fencedStore(this.#options.store, {
        mayWrite: isMine,
        reason: "another replica writes it",
      });
      const after = await this.#timed(() => store.apply(config, { fieldManager: FIELD_MANAGER }));
      memory.writtenMs = clock.monotonic();
      memory.mark = annotations.get(ANNOTATED_BY) ?? null;
      memory.foreign.clear();
      for (const key of memory.disputed.keys()) memory.disputed.set(key, annotations.get(key) ?? "");
      for (const key of Object.keys(after.metadata.annotations ?? {}))
        if (isOwnKey(key) && !annotations.has(key)) memory.foreign.add(key);
      return null;
    } catch (error) {
      if (isStoreError(error, "conflict")) return error;
      throw error;
    }
  }

  #leave(
    keys: readonly string[],
    object: KubernetesObject,
    memory: ObjectMemory,
    conflict: StoreError,
  ): void {
    const { logger, events, onConflict } = this.#options;
    for (const key of keys) memory.disputed.set(key, "");
    onConflict(keys.length);
    const { kind, metadata } = object;
    const subject = `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
    logger.warnOnce(`annotations:conflict:${subject}`, "annotations are left to another field manager", {
      subject,
      keys,
      error: conflict,
    });
    events.event(object, {
      type: "Warning",
      reason: "AnnotationConflict",
      action: "Annotate",
      note: `not written, since another field manager has another value: ${keys.join(", ")} (${conflict.message})`,
    });
  }

  #timed<T>(work: () => Promise<T>): Promise<T> {
    return withDeadline(this.#options.clock, WRITE_DEADLINE_MS, "a write of annotations", work);
  }
}

function done(result: WriteResult): WriteOutcome {
  return { result, error: null, verb: "patch" };
}

function resultOf(error: unknown): WriteResult {
  if (isStoreError(error, "not_found")) return "gone";
  if (isStoreError(error, "fenced")) return "disowned";
  if (isStoreError(error, "forbidden")) return "forbidden";
  return isStoreError(error, "invalid") ? "refused" : "failed";
}

/** Conflict messages name fields as `.metadata.annotations.<key>`. */
function namesAnnotation(message: string, key: string): boolean {
  const field = `.metadata.annotations.${key}`;
  for (let at = message.indexOf(field); at >= 0; at = message.indexOf(field, at + 1)) {
    // A longer key may start with this one.
    if (!/[\w./-]/.test(message.charAt(at + field.length))) return true;
  }
  return false;
}

function refOf({ apiVersion, kind, metadata }: KubernetesObject): ObjectRef {
  const { namespace, name } = metadata;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

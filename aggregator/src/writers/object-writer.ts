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

/**
 * Field manager of all annotations. Nothing else may be applied under this name: what one apply leaves out is
 * removed.
 */
export const FIELD_MANAGER = "isochrone-aggregator";

/** Tries of one write that meets others' changes. */
const MAX_TRIES = 3;
const WRITE_DEADLINE_MS = 15_000;

/** What is remembered of an object, by its uid. */
export interface ObjectMemory {
  /** Keys that are left to another manager, and what would have stood there at the last write. */
  readonly disputed: Map<string, string>;
  /** Keys of our names that stayed when we let them go: somebody else's. */
  readonly foreign: Set<string>;
  /**
   * Mark of a writer that stood there when it was first seen, or that we left; undefined: nobody has looked
   * yet.
   */
  mark: string | null | undefined;
  /**
   * How long another writer may be silent until its object is taken over, ms; undefined: it never undid what
   * was written here.
   */
  patienceMs: number | undefined;
  /** When the object was taken over from another writer, ms since the epoch. */
  tookOverMs: number | undefined;
  /**
   * A change that another writer has not written yet: the time of that writer's last mark in ms since the
   * epoch, and since when the change stands, on the monotonic clock.
   */
  unwritten: { readonly markedMs: number; readonly sinceMs: number } | undefined;
  /** On the monotonic clock: when it was written, and until when it is left alone. */
  writtenMs: number;
  blockedUntilMs: number;
}

export interface WriteTask {
  /** As last seen. */
  readonly object: KubernetesObject;
  /**
   * All annotations that it shall have of ours, by key; those that it has beside them and that are ours go.
   */
  readonly annotations: ReadonlyMap<string, string>;
  readonly memory: ObjectMemory;
  /** Asked before each try, and again when the request leaves the process. */
  readonly isMine: () => boolean;
}

/** What a write came to; `error` says why it failed. */
export interface WriteOutcome {
  readonly result: WriteResult;
  readonly error: unknown;
  /** Of the call that was refused. */
  readonly verb: "patch" | "get";
}

interface ObjectWriterOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventRecorder, "event">;
  /** Whether a key is of a name that this writer writes. */
  readonly isOwnKey: (key: string) => boolean;
  readonly onConflict: (fields: number) => void;
}

/**
 * Writes annotations by server-side apply, never by force, and only onto the object and version that it has
 * seen: a replica that was stopped for a while changes nothing that another one wrote meanwhile, and no
 * deleted object comes back.
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

/** Whether a conflict is about the annotation: the message names fields as `.metadata.annotations.<key>`. */
function namesAnnotation(message: string, key: string): boolean {
  const field = `.metadata.annotations.${key}`;
  for (let at = message.indexOf(field); at >= 0; at = message.indexOf(field, at + 1)) {
    // A longer key may begin with this one.
    if (!/[\w./-]/.test(message.charAt(at + field.length))) return true;
  }
  return false;
}

function refOf({ apiVersion, kind, metadata }: KubernetesObject): ObjectRef {
  const { namespace, name } = metadata;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

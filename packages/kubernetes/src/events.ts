import { pause, periodic, visible, withDeadline } from "@isochrone/runtime";
import type { Clock, Logger, Periodic } from "@isochrone/runtime";

import { definedOf } from "@isochrone/primitives";
import { isStoreError, StoreError } from "./store/errors.ts";
import { microTime } from "./leases/lease-record.ts";
import { KINDS } from "./kinds.ts";
import type { ClusterStore, KubernetesObject, ObjectRef } from "./store/port.ts";

export interface EventRecorderOptions {
  readonly store: Pick<ClusterStore, "create" | "patch">;
  /** Reporter such as "scheduler-plugin": reportingController is `isochrone.dev/<component>`. */
  readonly component: string;
  /** Replica, such as the pod's name. @default component */
  readonly instance?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onDrop?: (reason: EventDropReason) => void;
}

export interface ReportedEvent {
  readonly type: "Normal" | "Warning";
  /** Reason as a constant CamelCase word; users filter by it. */
  readonly reason: string;
  readonly action: string;
  /** Text for humans; cut at 1024 bytes. */
  readonly note: string;
  readonly related?: EventSubject;
}

type EventSubject = KubernetesObject | ObjectRef;

/**
 * `overflow`: too many pending. `expired`: the API server was away too long. `refused`: rejected by it.
 * `stopped`: the process ended.
 */
export type EventDropReason = "overflow" | "expired" | "refused" | "stopped";

interface EventCounts {
  readonly reported: number;
  readonly writes: number;
  /** Reports neither written nor counted in a series. */
  readonly dropped: number;
}

export interface EventRecorder {
  /** Returns at once. Never throws. */
  event(regarding: EventSubject, event: ReportedEvent): void;
  counts(): EventCounts;
  /** Writes pending events for a short time. Drops events reported later. */
  stop(): Promise<void>;
}

/** Equal events within this time form a series. */
const SERIES_ENDS_MS = 6 * 60_000;
const SERIES_REFRESH_MS = 60_000;
/** Maximum events of an object that differ only in the note; more become one series. */
const MAX_SIMILAR = 10;
/** Maximum number of series, about 2 KB each. */
const MAX_SERIES = 2_000;
const MAX_PENDING_MS = 10 * 60_000;
const LOOK_INTERVAL_MS = 5_000;
/** Interval of writes: at most 20 per second. */
const WRITE_INTERVAL_MS = 50;
const WRITE_DEADLINE_MS = 10_000;
const STOP_DEADLINE_MS = 2_000;
const MAX_NOTE_BYTES = 1_024;
/** Maximum length of the name's start; leaves room for a unique suffix in 253 characters. */
const MAX_NAME_START = 220;

interface Series {
  readonly kind: string;
  event: KubernetesObject;
  /** Reports since the Event object was, or will be, created. */
  count: number;
  /** Reports known to the API server; 0: no Event object yet. */
  written: number;
  lastObservedTime: string;
  /** On the monotonic clock, as are the following times. */
  lastSeenMs: number;
  pendingSinceMs: number;
  dueMs: number;
}

/**
 * Writes Events (events.k8s.io/v1) in the background. Rejected ones are counted and logged once an hour,
 * never thrown.
 */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new BackgroundRecorder(options);
}

class BackgroundRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  /** Series by equality key, in order of the last attempt. */
  readonly #series = new Map<string, Series>();
  readonly #similar = new Map<string, number>();
  readonly #loop: Periodic;
  #stopped = false;
  #stamps = 0;
  #reported = 0;
  #writes = 0;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#loop = periodic({
      clock: options.clock,
      intervalMs: LOOK_INTERVAL_MS,
      run: (signal) => this.#writeDue(signal),
      onError: (error) => options.logger.warnOnce("events", "events can't be written", { error }),
    });
  }

  counts(): EventCounts {
    return { reported: this.#reported, writes: this.#writes, dropped: this.#dropped };
  }

  event(regarding: EventSubject, event: ReportedEvent): void {
    this.#reported += 1;
    try {
      if (this.#stopped) this.#drop("stopped", 1);
      else this.#take(regarding, event);
    } catch (error) {
      // A malformed object must not break its reporter.
      this.#drop("refused", 1, error);
    }
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#loop.stop();
    const { clock } = this.#options;
    await withDeadline(clock, STOP_DEADLINE_MS, "writing the last events", async (signal) => {
      for (const [key, series] of this.#pending()) {
        if (signal.aborted || !(await this.#write(key, series))) return;
      }
    }).catch(() => undefined);
    for (const [, series] of this.#pending()) this.#drop("stopped", series.count - series.written);
    this.#series.clear();
  }

  #take(regarding: EventSubject, event: ReportedEvent): void {
    const nowMs = this.#options.clock.monotonic();
    const kind = kindOf(regarding, event);
    const own = JSON.stringify([kind, event.note]);
    const isMerged = !this.#series.has(own) && (this.#similar.get(kind) ?? 0) >= MAX_SIMILAR;
    const key = isMerged ? kind : own;
    const known = this.#series.get(key);
    if (known) return this.#repeat(known, nowMs);
    if (this.#series.size >= MAX_SERIES && !this.#forgetWritten()) return this.#drop("overflow", 1);
    const time = this.#time();
    const note = isMerged ? `(combined from similar events) ${event.note}` : event.note;
    this.#series.set(key, {
      kind,
      event: this.#newEvent(regarding, { ...event, note }, time),
      count: 1,
      written: 0,
      lastObservedTime: time,
      lastSeenMs: nowMs,
      pendingSinceMs: nowMs,
      dueMs: nowMs,
    });
    this.#similar.set(kind, (this.#similar.get(kind) ?? 0) + 1);
    this.#loop.start();
    this.#loop.trigger();
  }

  #repeat(series: Series, nowMs: number): void {
    if (series.count === series.written) series.pendingSinceMs = nowMs;
    series.count += 1;
    series.lastObservedTime = this.#time();
    series.lastSeenMs = nowMs;
    if (series.dueMs <= nowMs) this.#loop.trigger();
  }

  /** Writes due series, oldest first. Stops at the first connection error. */
  async #writeDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    this.#forgetOld();
    for (const [key, series] of this.#pending()) {
      const nowMs = clock.monotonic();
      if (series.dueMs > nowMs) continue;
      if (!(await this.#write(key, series))) return;
      await pause(clock, WRITE_INTERVAL_MS, signal);
      if (signal.aborted) return;
    }
  }

  /** Returns false if the API server is unreachable. */
  async #write(key: string, series: Series): Promise<boolean> {
    const { clock } = this.#options;
    const { count } = series;
    // Moved to the end, so that a failing series doesn't block others.
    this.#series.delete(key);
    this.#series.set(key, series);
    try {
      await withDeadline(clock, WRITE_DEADLINE_MS, "writing an event", () => this.#send(series, count));
      this.#writes += 1;
      series.written = count;
      series.pendingSinceMs = clock.monotonic();
      // The first repeat is news; later ones only change a number.
      series.dueMs = clock.monotonic() + (count === 1 ? 0 : SERIES_REFRESH_MS);
      return true;
    } catch (error) {
      return this.#failed(key, series, error);
    }
  }

  async #send({ event, written, lastObservedTime }: Series, count: number): Promise<void> {
    const { store } = this.#options;
    const series = count > 1 ? { series: { count, lastObservedTime } } : {};
    if (written > 0) {
      await store.patch({ ...KINDS.event, ...event.metadata }, series);
      return;
    }
    try {
      await store.create({ ...event, ...series });
    } catch (error) {
      // Our own creation, whose answer was lost: the name contains the time.
      if (!isStoreError(error, "already_exists")) throw error;
    }
  }

  #failed(key: string, series: Series, error: unknown): boolean {
    if (isStoreError(error, "not_found") && series.written > 0) {
      // The API server keeps Events for an hour: start a new one.
      series.count -= series.written;
      series.written = 0;
      series.event = this.#renamed(series.event);
      return true;
    }
    // A replica may lead again before the event expires.
    if (error instanceof StoreError && !error.retryable && error.code !== "fenced") {
      this.#forget(key, series);
      this.#drop("refused", series.count - series.written, error);
      return true;
    }
    this.#options.logger.warnOnce("events", "events can't be written, trying again", { error });
    return false;
  }

  #renamed(event: KubernetesObject): KubernetesObject {
    const { metadata } = event;
    const start = metadata.name.slice(0, metadata.name.lastIndexOf("."));
    return { ...event, metadata: { ...metadata, name: this.#nameFrom(start) }, eventTime: this.#time() };
  }

  #pending(): [string, Series][] {
    return [...this.#series].filter(([, { count, written }]) => count > written);
  }

  #forgetOld(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [key, series] of this.#series) {
      const isPending = series.count > series.written;
      if (isPending && nowMs - series.pendingSinceMs > MAX_PENDING_MS) {
        this.#drop("expired", series.count - series.written);
        this.#forget(key, series);
      } else if (!isPending && nowMs - series.lastSeenMs > SERIES_ENDS_MS) this.#forget(key, series);
    }
  }

  /** Drops a written series to make room. Returns false if all are still pending. */
  #forgetWritten(): boolean {
    for (const [key, series] of this.#series) {
      if (series.count > series.written) continue;
      this.#forget(key, series);
      return true;
    }
    return false;
  }

  #forget(key: string, { kind }: Series): void {
    if (!this.#series.delete(key)) return;
    const left = (this.#similar.get(kind) ?? 0) - 1;
    if (left > 0) this.#similar.set(kind, left);
    else this.#similar.delete(kind);
  }

  #drop(reason: EventDropReason, count: number, error?: unknown): void {
    const { logger, onDrop } = this.#options;
    this.#dropped += count;
    logger.warnOnce(`events:${reason}`, "events dropped", {
      reason,
      dropped: this.#dropped,
      ...(error === undefined ? {} : { error }),
    });
    for (let times = 0; times < count; times++) onDrop?.(reason);
  }

  #newEvent(regarding: EventSubject, event: ReportedEvent, eventTime: string): KubernetesObject {
    const subject = referenceTo(regarding);
    const { component, instance = component } = this.#options;
    const { type, reason, action, note, related } = event;
    return {
      ...KINDS.event,
      // The API server keeps Events of cluster-scoped objects in "default".
      metadata: { namespace: subject.namespace ?? "default", name: this.#nameFrom(subject.name) },
      eventTime,
      reportingController: this.#controller(),
      reportingInstance: instance.slice(0, 128),
      type,
      reason,
      action,
      note: cutBytes(visible(note), MAX_NOTE_BYTES),
      regarding: subject,
      ...(related === undefined ? {} : { related: referenceTo(related) }),
    };
  }

  #controller(): string {
    return `isochrone.dev/${this.#options.component}`;
  }

  #time(): string {
    return microTime(this.#options.clock.now(), ++this.#stamps);
  }

  /** Event name as in client-go: the object's name and the time in hexadecimal. */
  #nameFrom(name: string): string {
    const start = name.slice(0, MAX_NAME_START).replace(/[-.]+$/u, "");
    const micros = BigInt(Math.trunc(this.#options.clock.now())) * 1_000n + BigInt(++this.#stamps % 1_000);
    return `${start}.${micros.toString(16)}`;
  }
}

interface ObjectReference extends ObjectRef {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

function referenceTo(subject: EventSubject): ObjectReference {
  const { apiVersion, kind } = subject;
  const { namespace, name } = isObject(subject) ? subject.metadata : subject;
  const { uid, resourceVersion } = isObject(subject) ? subject.metadata : {};
  return {
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...definedOf({ uid, resourceVersion }),
  };
}

function isObject(subject: EventSubject): subject is KubernetesObject {
  return "metadata" in subject;
}

/** Similarity key of an event. Ignores the object's version. */
function kindOf(regarding: EventSubject, { type, reason, action, related }: ReportedEvent): string {
  const identities = [regarding, related].map((subject) => {
    if (subject === undefined) return null;
    const { apiVersion, kind, namespace, name, uid } = referenceTo(subject);
    return [apiVersion, kind, namespace ?? null, name, uid ?? null];
  });
  return JSON.stringify([type, reason, action, ...identities]);
}

/** Cuts to `limit` bytes of UTF-8 without splitting a character. */
function cutBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text;
  const dots = "...";
  const bytes = Buffer.from(text).subarray(0, limit - dots.length);
  return `${new TextDecoder().decode(bytes, { stream: true })}${dots}`;
}

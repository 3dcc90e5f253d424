import { pause, periodic, visible, withDeadline } from "@isochrone/runtime";
import type { Clock, Logger, Periodic } from "@isochrone/runtime";

import { definedOf } from "@isochrone/primitives";
import { isStoreError, StoreError } from "./store/errors.ts";
import { microTime } from "./leases/lease-record.ts";
import { KINDS } from "./kinds.ts";
import type { ClusterStore, KubernetesObject, ObjectRef } from "./store/port.ts";

/** How an event recorder is built. */
export interface EventRecorderOptions {
  readonly store: Pick<ClusterStore, "create" | "patch">;
  /**
   * Which part of Isochrone speaks, as "scheduler-plugin"; becomes reportingController
   * `isochrone.dev/<component>`.
   */
  readonly component: string;
  /** Which replica of it speaks, as the pod's name. @default component */
  readonly instance?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Hears of every event that is not written: for a metric. */
  readonly onDrop?: (reason: EventDropReason) => void;
}

/** What happened to an object, in the terms of events.k8s.io/v1. */
export interface ReportedEvent {
  readonly type: "Normal" | "Warning";
  /** Why, in one CamelCase word that never varies: it is what people filter by. */
  readonly reason: string;
  /** What was done or tried, in one CamelCase word. */
  readonly action: string;
  /** For people; cut at 1024 bytes. */
  readonly note: string;
  /** Another object that it is about. */
  readonly related?: EventSubject;
}

/** The object, or a reference to it. */
type EventSubject = KubernetesObject | ObjectRef;

/**
 * `overflow`: too many at once; `expired`: the API server was away too long; `refused`: it does not take this
 * one; `stopped`: the process ended first.
 */
export type EventDropReason = "overflow" | "expired" | "refused" | "stopped";

interface EventCounts {
  /** Calls of `event`. */
  readonly reported: number;
  /** Event objects created or updated. */
  readonly writes: number;
  /** Calls whose event was not written, nor counted in the series of another one. */
  readonly dropped: number;
}

/** Writes Events in the background. */
export interface EventRecorder {
  /** Notes the event and returns at once. Never throws. */
  event(regarding: EventSubject, event: ReportedEvent): void;
  counts(): EventCounts;
  /** Writes what is still pending if that is quickly done; later events are dropped. */
  stop(): Promise<void>;
}

/** Equal events that come again within this time are one series. */
const SERIES_ENDS_MS = 6 * 60_000;
/** A series is written at its first repeat, then this often at most. */
const SERIES_REFRESH_MS = 60_000;
/** Events of one object that differ in the note alone; more are merged into one series. */
const MAX_SIMILAR = 10;
/** Series that are kept; each takes about 2 KB. */
const MAX_SERIES = 2_000;
/** Nobody learns from an event that comes later than this. */
const MAX_PENDING_MS = 10 * 60_000;
const LOOK_INTERVAL_MS = 5_000;
/** At most 20 writes a second. */
const WRITE_INTERVAL_MS = 50;
const WRITE_DEADLINE_MS = 10_000;
const STOP_DEADLINE_MS = 2_000;
const MAX_NOTE_BYTES = 1_024;
/** Leaves room in an object name of 253 characters for what makes it unique. */
const MAX_NAME_START = 220;

/** Events that are equal but for their time. */
interface Series {
  /** What makes events similar to these: all but the note. */
  readonly kind: string;
  event: KubernetesObject;
  /** Times reported since the Event object was, or is to be, created. */
  count: number;
  /** Of these, how many the API server knows of; 0: there is no Event object yet. */
  written: number;
  lastObservedTime: string;
  /** This and the following on the monotonic clock. */
  lastSeenMs: number;
  pendingSinceMs: number;
  /** No write before. */
  dueMs: number;
}

/**
 * Events (events.k8s.io/v1) about objects of the cluster. Repeats become a series, a flood of similar ones is
 * merged into one; what the API server does not take is counted and logged once an hour, never thrown.
 */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new BackgroundRecorder(options);
}

class BackgroundRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  /** By what makes events equal, those that were tried last at the end. */
  readonly #series = new Map<string, Series>();
  /** How many series there are of a kind. */
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
      // A malformed object must not stop who only wanted to tell of it.
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

  /** Oldest first; stops at the first fault of the way, which the others would meet too. */
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

  /** False: the API server can't be reached at this time. */
  async #write(key: string, series: Series): Promise<boolean> {
    const { clock } = this.#options;
    const { count } = series;
    // To the end: one that fails again and again must not keep the others back.
    this.#series.delete(key);
    this.#series.set(key, series);
    try {
      await withDeadline(clock, WRITE_DEADLINE_MS, "writing an event", () => this.#send(series, count));
      this.#writes += 1;
      series.written = count;
      series.pendingSinceMs = clock.monotonic();
      // The first repeat is news, further ones a number.
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
      // A creation whose answer got lost: the name has the time in it, so that it is ours.
      if (!isStoreError(error, "already_exists")) throw error;
    }
  }

  #failed(key: string, series: Series, error: unknown): boolean {
    if (isStoreError(error, "not_found") && series.written > 0) {
      // The API server keeps Events for an hour: the series begins again.
      series.count -= series.written;
      series.written = 0;
      series.event = this.#renamed(series.event);
      return true;
    }
    // Who isn't the leader may be it again before the event is too old.
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
    // Without the time that ends it.
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

  /** Makes room for an event that is new: false when all that is kept still waits to be written. */
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
      // Events of cluster-scoped objects are kept in "default", by the API server's rule.
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

  /** As client-go names Events: the object, then the time in hexadecimal. */
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

/** All that similar events have in common. The version of the object does not tell events apart. */
function kindOf(regarding: EventSubject, { type, reason, action, related }: ReportedEvent): string {
  const identities = [regarding, related].map((subject) => {
    if (subject === undefined) return null;
    const { apiVersion, kind, namespace, name, uid } = referenceTo(subject);
    return [apiVersion, kind, namespace ?? null, name, uid ?? null];
  });
  return JSON.stringify([type, reason, action, ...identities]);
}

/** At most `limit` bytes of UTF-8, no character cut in two. */
function cutBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text;
  const dots = "...";
  const bytes = Buffer.from(text).subarray(0, limit - dots.length);
  return `${new TextDecoder().decode(bytes, { stream: true })}${dots}`;
}

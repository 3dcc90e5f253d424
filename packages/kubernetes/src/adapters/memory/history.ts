import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";

import { detailed } from "../../store/detail.ts";
import { StoreError } from "../../store/errors.ts";
import { matchesFields } from "../../store/fields.ts";
import { cloneJson } from "../../store/json.ts";
import type { Detail, FieldSelector, KindRef, KubernetesObject, WatchEvent } from "../../store/port.ts";

interface Change {
  readonly type: "added" | "modified" | "deleted";
  readonly object: KubernetesObject;
}

export interface WatchRequest extends Detail {
  readonly resourceVersion: string;
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  readonly signal: AbortSignal;
}

/** Last changes. A watcher is only a cursor: a slow one is free, and relists once overrun. */
export class History {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #bookmarkIntervalMs: number;
  readonly #listeners = new Set<() => void>();
  /** Ring: the change of version v is at v % limit. */
  readonly #ring: Change[] = [];
  #version = 0;

  constructor(clock: Clock, limit: number, bookmarkIntervalMs: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#bookmarkIntervalMs = bookmarkIntervalMs;
  }

  get version(): number {
    return this.#version;
  }

  /** Records a change. `object` must be immutable and carry version + 1. */
  record(type: Change["type"], object: KubernetesObject): void {
    this.#version += 1;
    this.#ring[this.#version % this.#limit] = { type, object };
    for (const listener of this.#listeners) listener();
  }

  async *watch(kind: KindRef, request: WatchRequest): AsyncGenerator<WatchEvent> {
    const { signal } = request;
    let cursor = parseVersion(request.resourceVersion);
    let reported = cursor;
    const pacer = new Pacer(this.#clock, this.#bookmarkIntervalMs, signal);
    const wake = (): void => pacer.wake();
    this.#listeners.add(wake);
    try {
      while (!signal.aborted) {
        this.#checkKept(cursor);
        if (cursor < this.#version) {
          cursor += 1;
          const change = this.#ring[cursor % this.#limit];
          if (!change || !matches(change.object, kind, request)) continue;
          reported = cursor;
          yield { type: change.type, object: detailed(cloneJson(change.object), request) };
        } else if (reported < cursor && pacer.takeBookmark()) {
          reported = cursor;
          yield { type: "bookmark", resourceVersion: String(cursor) };
        } else {
          await pacer.pause();
        }
      }
    } finally {
      this.#listeners.delete(wake);
      pacer.end();
    }
  }

  #checkKept(cursor: number): void {
    const oldest = Math.max(0, this.#version - this.#limit);
    if (cursor >= oldest && cursor <= this.#version) return;
    throw new StoreError(
      "expired",
      `resourceVersion ${cursor} is not kept (${oldest} to ${this.#version} are): list again`,
    );
  }
}

class Pacer {
  readonly #signal: AbortSignal;
  readonly #ended = new AbortController();
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onAbort = (): void => this.wake();
  #bookmarkDue = false;
  #resolve: () => void = () => undefined;
  #woken = false;

  constructor(clock: Clock, intervalMs: number, signal: AbortSignal) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    void this.#tick();
  }

  wake(): void {
    this.#woken = true;
    this.#resolve();
  }

  async pause(): Promise<void> {
    if (!this.#woken && !this.#signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      await promise;
    }
    this.#woken = false;
  }

  takeBookmark(): boolean {
    const due = this.#bookmarkDue;
    this.#bookmarkDue = false;
    return due;
  }

  end(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#ended.abort();
  }

  async #tick(): Promise<void> {
    const signal = AbortSignal.any([this.#signal, this.#ended.signal]);
    while (!signal.aborted) {
      await pause(this.#clock, this.#intervalMs, signal);
      this.#bookmarkDue = true;
      this.wake();
    }
  }
}

function matches(object: KubernetesObject, kind: KindRef, { namespace, fields = {} }: WatchRequest): boolean {
  if (object.kind !== kind.kind || object.apiVersion !== kind.apiVersion) return false;
  if (!matchesFields(fields, object)) return false;
  return (
    namespace === undefined ||
    object.metadata.namespace === undefined ||
    object.metadata.namespace === namespace
  );
}

function parseVersion(text: string): number {
  const version = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(version)) return version;
  throw new StoreError(
    "invalid",
    `resourceVersion must be a decimal number as list returned it, got "${text}"`,
  );
}

import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ApiClient } from "./api-client.ts";

interface Wait<T> {
  readonly path: string;
  /** A label selector, such as app=web. */
  readonly labels: string | undefined;
  /** Returns null, undefined or false to wait on. An error, such as a failed expect, counts as not yet. */
  readonly check: (objects: readonly KubernetesObject[]) => T | null | undefined | false;
  readonly timeoutMs: number;
}

interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubernetesObject;
}

const CHECK_INTERVAL_MS = 20;
const RETRY_MS = 100;
const SHOWN = 12;

/** @throws Error with the last state seen on a timeout */
export async function waitFor<T>(api: ApiClient, wait: Wait<T>): Promise<T> {
  const { path, labels, check, timeoutMs } = wait;
  const ended = new AbortController();
  const mirror = new Mirror(api, path, labels, ended.signal);
  const deadline = performance.now() + timeoutMs;
  let why: unknown = "it was not so";
  try {
    while (performance.now() < deadline) {
      const objects = mirror.changed();
      if (objects !== null) {
        try {
          const result = check(objects);
          if (result !== null && result !== undefined && result !== false) return result;
        } catch (error) {
          why = error;
        }
      }
      await sleep(CHECK_INTERVAL_MS);
    }
  } finally {
    ended.abort();
  }
  const what = `${path}${labels === undefined ? "" : ` with ${labels}`}`;
  const reason = [mirror.failure ?? why].map((error) => (error instanceof Error ? error.message : error));
  throw new Error(`waited ${timeoutMs} ms for ${what}: ${reason.join("")}; ${mirror.description}`, {
    cause: mirror.failure ?? why,
  });
}

class Mirror {
  failure: unknown = null;
  readonly #objects = new Map<string, KubernetesObject>();
  #hasChanged = false;

  constructor(api: ApiClient, path: string, labels: string | undefined, ended: AbortSignal) {
    void this.#follow(
      api,
      path,
      labels === undefined ? "" : `labelSelector=${encodeURIComponent(labels)}`,
      ended,
    );
  }

  /** Returns null if nothing changed since the last call. */
  changed(): readonly KubernetesObject[] | null {
    if (!this.#hasChanged) return null;
    this.#hasChanged = false;
    return [...this.#objects.values()];
  }

  get description(): string {
    const objects = [...this.#objects.values()];
    const shown = objects.slice(0, SHOWN).map(({ metadata, spec, status }) => {
      const { phase = "", nodeName = "" } = { ...spec, ...status } as { phase?: string; nodeName?: string };
      return `${metadata.name} ${phase} ${nodeName}`.trim();
    });
    const more = objects.length > SHOWN ? `, and ${objects.length - SHOWN} more` : "";
    return `the last seen were ${objects.length}: ${shown.join(", ")}${more}`;
  }

  async #follow(api: ApiClient, path: string, query: string, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      try {
        await this.#listAndWatch(api, path, query, ended);
      } catch (error) {
        // The server is away or dropped the watch's version: start again with a list.
        this.failure = error;
      }
      if (!ended.aborted) await sleep(RETRY_MS);
    }
  }

  async #listAndWatch(api: ApiClient, path: string, query: string, ended: AbortSignal): Promise<void> {
    const { metadata, items } = await api.request<{
      metadata: { resourceVersion: string };
      items: KubernetesObject[];
    }>("GET", `${path}?${query}`);
    this.failure = null;
    this.#objects.clear();
    for (const object of items) this.#objects.set(keyOf(object), object);
    this.#hasChanged = true;
    const watch = `${path}?watch=1&resourceVersion=${metadata.resourceVersion}&${query}`;
    for await (const line of api.lines(watch, ended)) {
      const { type, object } = JSON.parse(line) as WatchLine;
      if (type === "ERROR") return;
      if (type === "DELETED") this.#objects.delete(keyOf(object));
      else if (type !== "BOOKMARK") this.#objects.set(keyOf(object), object);
      this.#hasChanged = true;
    }
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
